"""A scenario of a second, to be swept: what comes after it are its algorithms."""

SMALL = """\
name: small
topology: {kind: ring, agents: 4}
problem: {data: {name: synthetic, records: 40, dimension: 3}, ridge: 0.5}
algorithms:
"""
NOISY = "  - {kind: private_gradient_descent, name: noisy, rounds: 5, scale: 0.01}\n"
