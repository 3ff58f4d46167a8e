"""Transcript: messages, records in memory and on disk, pcapng export, and the owner's packet log."""
