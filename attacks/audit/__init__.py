"""Audits: the cost of a mechanism, the bound that a game proves of it, and the verdict on its claim.

    audit          simulate both worlds, gather, judge: `audit(simulate, pair, claim, …)` gives a result
    result         `AuditResult`
    pair           two adjacent worlds, and the search for a worst pair
    archive        chunks on disk, so that an audit can be interrupted and go on
    private_coins  what is left of a verdict that was found at one toss of them
    rare_tosses    messages without noise at tosses that hardly ever come out
    verdict        one word from three epsilons   witness      transcripts that refute a claim
    loss/          exact loss of transcripts      loss_breakdown  by release, activation and link
    accounting/    intervals, and ε(δ) of products of releases
    games/         coin flips, sequential test, power
    classifier     trained scores of transcripts  trained      their place in an audit
    views          links, nodes and coalitions
    conformance    whether a program that took an agent's place follows the algorithm
    deviation      whether private data enter its messages in another size, and which size would be found

`scenarios` knows files and folders, and nothing in here does.
"""
