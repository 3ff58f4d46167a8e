"""Scenarios that take a second: six agents, one image each for the pictures, three algorithms; and one algorithm."""

SMALL = """\
name: small
title: A small one
description: Six agents on a ring.
seed: 5
replicas: 6
problem:
  kind: logistic
  data: {name: digits, norm_bound: 4.0}
topology: {kind: ring, agents: 6}
links:
  delay: {kind: uniform, low: 0.01, high: 0.03}
  loss: 0.1
  reliable: true
adversary:
  links: [[0, 1], [1, 2], [0, 5], [2, 3], [3, 4], [4, 5]]
algorithms:
  - {kind: recal, name: plain, activations: 240}
  - {kind: dp_recal, name: leaky, per_agent: 6, ratio: 1.05}
  - {kind: dp_recal, name: told, reading: sent_state, per_agent: 6, ratio: 1.05}
attacks: {images: true}
audit: {agent: 1, trials: 100, chunk: 100}
"""
TINY = """\
name: tiny
problem: {kind: ridge, data: {name: synthetic, kind: regression, records: 20, dimension: 2}, ridge: 0.5}
topology: {kind: ring, agents: 4}
algorithms:
  - {kind: private_gradient_descent, name: mine, rounds: 3, clip: {bound: 1.0}, scale: {epsilon: 4.0}}
attacks: {gradients: false}
audit: {adjacency: {change: 1.0}, trials: 100, chunk: 100}
"""
