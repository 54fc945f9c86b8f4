"""Stand-ins for services on the network: real servers on the loopback address."""
