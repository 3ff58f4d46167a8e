"""netsim: private decentralized optimization on a simulated, hostile network."""
