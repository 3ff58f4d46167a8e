"""The auditor's certificate: how often audits accuse the innocent, and how often they find planted faults."""
