"""The auditor's certificate: how often audits accuse the innocent, and how often they find planted faults.

`certify` repeats every case, `page` writes docs/certificate.md, `failures` says what does not hold.
"""

from scenarios.certificate.certificate import REPETITIONS, SEED, Certificate, cases, certify, failures, page, times

__all__ = ["REPETITIONS", "SEED", "Certificate", "cases", "certify", "failures", "page", "times"]
