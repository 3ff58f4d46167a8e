"""Audits: what a mechanism costs, what a game proves about it, and the verdict on its claim.

    audit       simulate both worlds, gather, judge: `audit(simulate, pair, claim, …)` and the `Audit` it gives
    gathering   chunk by chunk into an archive    archive    on disk, so that an audit can be stopped and go on
    verdict     from three epsilons to a word     finding    what was found          pair       two adjacent worlds
    loss/       the exact loss of transcripts     statistics/  intervals, and ε(δ) of products of releases
    games/      coin flips, wagers, power         blackbox/    inferred gradients and trained classifiers as scores
    views/      links, nodes and coalitions       pairs/       the search for the worst pair
    anatomy/    what a loss is made of            witnesses/   one transcript that breaks a claim

`scenarios` knows files and folders, and nothing in here does.
"""
