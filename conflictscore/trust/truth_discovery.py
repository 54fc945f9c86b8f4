"""Weights from agreement: who says what the others say is trusted, and who is trusted counts more.

This is truth discovery on the table of labels, as TruthFinder (Yin, Han and Yu, 2008) and ACCU
(Dong, Berti-Equille and Srivastava, 2009) do it for facts on websites. Sources and what they say
are estimated from each other, in turn, until nothing moves. What the table offers, and what not:

- A source is a document, or a group of near-copies (with one vote a domain, a domain): agreement
  among copies proves nothing. ACCU finds its copiers by the mistakes that they share. Labels do not
  say which other thing a contradicting document claims, so copies are found in the texts instead.
- A claim has two values: it holds, which SUPPORTS says, or it does not, which CONTRADICTS says.
  IRRELEVANT and UNLABELLED say nothing. Documents that contradict one claim count as agreeing,
  though each may say another thing.
- One answer makes few claims. So a source is trusted as if it had spoken to ``PRIOR_CLAIMS`` more,
  and as rightly as its algorithm expects beforehand. This is ours. It bounds every weight, and with
  a single claim it leaves the minority a small one.
- Labels err, so agreement leaves no document out: one that ACCU finds to err more often than not
  keeps a hundredth of the weight of the most trusted. What it says can still dispute a claim.
"""

from collections.abc import Callable, Mapping, Sequence
from math import exp, fsum, log
from typing import Literal, NamedTuple, get_args

from conflictscore.records import ClaimEvidence, Document

__all__ = ["PRIOR_CLAIMS", "AgreementMethod", "AgreementTrust", "TrustedSources", "trusted_sources"]

AgreementMethod = Literal["truthfinder", "accu"]
"""Which algorithm it is."""
PRIOR_CLAIMS = 2
"""How many claims a source is taken to have spoken to before those of the table."""

_INFLUENCE, _DAMPENING = 0.5, 0.3
"""TruthFinder's rho and gamma, as its paper sets them."""
_LEAST = 0.01
"""The least weight of a document where the most trusted has 1."""
_SETTLED, _MOST_STEPS = 1e-5, 1_000


class _Algorithm(NamedTuple):
    """What tells one algorithm from the other.

    Attributes:
        start: The share of right values that a source is expected to give, in (0, 1).
        vote: From that share to how much a source's word counts, at least 0.
        confidence: From the votes for a value and those for the other one to the probability of the
            first, in [0, 1].
    """

    start: float
    vote: Callable[[float], float]
    confidence: Callable[[float, float], float]


def _logistic(x: float) -> float:
    return 1 / (1 + exp(-x)) if x >= 0 else 1 - 1 / (1 + exp(x))


_ALGORITHMS: dict[AgreementMethod, _Algorithm] = {
    "truthfinder": _Algorithm(
        start=0.9,
        vote=lambda trust: -log(1 - trust),
        # the other value is as far against this one as can be: an implication of -1
        confidence=lambda this, other: _logistic(_DAMPENING * (this - _INFLUENCE * other)),
    ),
    "accu": _Algorithm(
        start=0.8,
        # with one false value a source that errs more often than not would count as its opposite
        vote=lambda accuracy: max(0.0, log(accuracy / (1 - accuracy))),
        confidence=lambda this, other: _logistic(this - other),
    ),
}


class TrustedSources(NamedTuple):
    """What came of the sources of a table.

    Attributes:
        trust: For each source that takes a side the share of right values it is expected to give,
            in (0, 1): TruthFinder's trustworthiness, ACCU's accuracy.
        weights: How much its word counts, at least 0.
        unheard: The same for a source that takes no side.
        settled: Whether nothing moved any more in the end.
    """

    trust: dict[int, float]
    weights: dict[int, float]
    unheard: float
    settled: bool


def trusted_sources(
    claims: Sequence[ClaimEvidence],
    method: AgreementMethod,
    once: Mapping[int, int] = {},
) -> TrustedSources:
    """Estimate how far sources are trusted from what they say of claims.

    Args:
        claims: The claims with their labels, each claim once.
        method: The algorithm.
        once: For each document that is not the first of its source the number of the first.
    """
    start, vote, confidence = _ALGORITHMS[method]
    sides = [
        [sorted({once.get(number, number) for number in side}) for side in sides]
        for sides in ((claim.supports, claim.contradicts) for claim in claims)
    ]
    trust = {source: start for both in sides for side in both for source in side}
    for _ in range(_MOST_STEPS):
        votes = {source: vote(known) for source, known in trust.items()}
        right: dict[int, list[float]] = {source: [start] * PRIOR_CLAIMS for source in trust}
        for held, denied in sides:
            for_it, against = (fsum(votes[source] for source in side) for side in (held, denied))
            for side, this, other in ((held, for_it, against), (denied, against, for_it)):
                for source in side:
                    right[source].append(confidence(this, other))
        now = {source: fsum(shares) / len(shares) for source, shares in right.items()}
        moved = max((abs(now[source] - trust[source]) for source in trust), default=0.0)
        trust = now
        if moved < _SETTLED:
            break
    weights = {source: vote(known) for source, known in trust.items()}
    return TrustedSources(trust, weights, vote(start), moved < _SETTLED)


class AgreementTrust:
    """Weights from agreement, for each document of a question."""

    def __init__(self, method: AgreementMethod) -> None:
        """Take the algorithm.

        Args:
            method: ``truthfinder`` or ``accu``.

        Raises:
            ValueError: It is neither.
        """
        if method not in get_args(AgreementMethod):
            raise ValueError(f"unknown method {method!r}")
        self.name: str = method
        self._method = method

    @property
    def described(self) -> str:
        """What a log says of it."""
        return self.name

    def weights(
        self,
        documents: Sequence[Document],
        claims: Sequence[ClaimEvidence],
        once: Mapping[int, int] = {},
    ) -> dict[int, float]:
        """A weight for each document, in [.01, 1]; the most trusted one has 1.

        Args:
            documents: Those of the question.
            claims: Claims with their labels, each claim once.
            once: For each document that is not the first of its source the number of the first;
                copies have the weight of their source.
        """
        found = trusted_sources(claims, self._method, once)
        weights = {
            d.number: found.weights.get(once.get(d.number, d.number), found.unheard)
            for d in documents
        }
        most = max(weights.values(), default=0.0)
        return {n: max(_LEAST, weight / most) if most else 1.0 for n, weight in weights.items()}
