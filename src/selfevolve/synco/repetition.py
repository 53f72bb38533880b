"""How much a batch of problems repeats itself: BLEU distances, clusters, and the share of each problem's cluster.

Paper: R-Zero (Huang et al. 2025, arXiv 2508.05004), section 3.2, repetition penalty: d(i, j) = 1 - BLEU(i, j), agglomerative
clustering below a distance threshold, penalty lambda |C| / B. As in its repository: words are what white space separates, BLEU is the
sentence score of NLTK with its first smoothing method, linkage is average, and of a pair only BLEU(earlier | later) is taken.
"""

import math
from collections import Counter
from collections.abc import Sequence

import numpy as np
from scipy.cluster.hierarchy import fcluster, linkage
from scipy.spatial.distance import squareform

ORDERS = (1, 2, 3, 4)
EPSILON = 0.1  # counts of an order that does not match at all (Chen and Cherry 2014, method 1)


def bleu(hypothesis: Sequence[str], reference: Sequence[str]) -> float:
    """Smoothed sentence BLEU of words against one reference, in [0, 1]; 0 if no word is shared."""
    logs = 0.0
    for n in ORDERS:
        grams, others = (Counter(zip(*(words[i:] for i in range(n)), strict=False)) for words in (hypothesis, reference))
        matches = sum((grams & others).values())
        if n == 1 and not matches:
            return 0.0
        logs += math.log((matches or EPSILON) / max(1, grams.total())) / len(ORDERS)
    longer = len(hypothesis) > len(reference)
    return math.exp(logs) * (1.0 if longer else math.exp(1 - len(reference) / len(hypothesis)))


def cluster_shares(problems: Sequence[str], distance: float) -> list[float]:
    """For each problem the size of its cluster over the number of problems, in (0, 1].

    Args:
        problems: the batch; an empty text is a problem like any other.
        distance: clusters are merged while their mean BLEU distance is below this.
    """
    if len(problems) < 2:
        return [1.0] * len(problems)
    words = [problem.split() for problem in problems]
    distances = np.zeros((len(words), len(words)))
    for i, j in zip(*np.triu_indices(len(words), k=1), strict=True):
        distances[i, j] = distances[j, i] = 1.0 - (bleu(words[i], words[j]) if words[i] else float(not words[j]))
    below = np.nextafter(distance, 0.0)  # fcluster merges up to and including its threshold
    labels = fcluster(linkage(squareform(distances), method="average"), t=below, criterion="distance")
    sizes = Counter(labels.tolist())
    return [sizes[label] / len(problems) for label in labels.tolist()]
