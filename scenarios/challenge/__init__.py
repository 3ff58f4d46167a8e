"""Challenges: transcripts with a question whose answer has to be recovered from what an eavesdropper has.

```python
from scenarios.challenge import opened

view = opened("challenges/first-flag").view  # what was recorded and what is public, nothing else
```
"""

from scenarios.challenge.folder import Opened, opened

__all__ = ["Opened", "opened"]
