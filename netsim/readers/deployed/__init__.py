"""The deployed reader: an agent is a process, its messages are frames on TCP, and taps capture packets."""
