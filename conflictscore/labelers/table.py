"""Labels every claim against every document; pairs with the same content are judged once."""

import asyncio
from collections import Counter
from collections.abc import Callable, Mapping, Sequence
from math import log

from conflictscore.errors import FailureKind
from conflictscore.labelers.protocol import Labeler, Pair
from conflictscore.labelers.quotes import passage_of
from conflictscore.labelers.verdicts import content_of, judging, unlabelled
from conflictscore.models.usage import UsageMeter
from conflictscore.records import Claim, ClaimEvidence, Document, EvidenceLabel, Label
from conflictscore.scripts import terms_in
from conflictscore.storage.cache import ContentCache
from conflictscore.threads import Work, together

_OF_A_PAIR = ("claim", "document", "passage")
"""The fields of a verdict that can differ between pairs of the same content."""
_OUT_OF_TIME = "left out: the time for labelling was used up"
_TOO_MANY_CLAIMS = "left out: the answer has more claims than max_claims"
_TOO_MANY_PAIRS = "left out: there are more pairs of a claim and a document than max_pairs"


async def label_table(
    labeler: Labeler,
    claims: Sequence[Claim],
    documents: Sequence[Document],
    *,
    meter: UsageMeter,
    cache: ContentCache | None = None,
    on_label: Callable[[EvidenceLabel], None] = lambda label: None,
    max_claims: int | None = None,
    max_pairs: int | None = None,
    seconds: float | None = None,
    seconds_if_disputed: float | None = None,
) -> tuple[ClaimEvidence, ...]:
    """Label each claim against each document (paper, section 3, step 2).

    Pairs are judged document by document, so that the server of the judge can reuse its cached
    prompt prefix. The model limits the number of concurrent calls. A labeler that accepts many
    pairs at once (:class:`~conflictscore.labelers.protocol.TableLabeler`) gets all pairs in that
    order. Pairs with the same content are judged only once. A verdict is cached as soon as it
    arrives; failures are never cached.

    ``on_label`` is called for each pair as soon as its label is known. At most ``max_claims``
    claims are judged: those that the documents cover best. If the claims and documents make more
    than ``max_pairs`` pairs, fewer claims are judged, each against every document. If there is a
    time limit (``seconds``), the most informative pairs are judged first, and pairs that are not
    judged in time are skipped. Looking up cached verdicts does not count towards the limit. Once
    the labels put a claim in dispute, the limit falls to ``seconds_if_disputed``, which leaves time
    to correct the claim.

    Returns:
        One entry for each claim, with one label for each document. Claims and documents keep
        their order. If a pair was skipped or its judge failed, its label is UNLABELLED and includes
        the reason.

    Raises:
        ConfigurationError: A setting is invalid, so no pair can be judged.
    """
    labels: dict[tuple[int, int], EvidenceLabel] = {}
    labels_by_claim: dict[int, list[Label]] = {claim.number: [] for claim in claims}
    time_limit = _TimeLimit(seconds, seconds_if_disputed)

    def settle(pairs: Sequence[Pair], verdict: EvidenceLabel) -> None:
        passage = passage_of(*pairs[0], verdict)
        for claim, document in pairs:
            label = verdict
            own = (claim.number, document.number, passage)
            if own != (verdict.claim, verdict.document, verdict.passage):
                label = verdict.model_copy(update=dict(zip(_OF_A_PAIR, own, strict=True)))
            labels[claim.number, document.number] = label
            labels_by_claim[claim.number].append(label.label)
            on_label(label)
        # claims with the same text have the same labels, so only the first is labelled
        of_claim = labels_by_claim[pairs[0][0].number]
        if seconds_if_disputed is not None and _may_be_disputed(of_claim):
            time_limit.shorten()

    pairs, why_left_out = _ordered(
        claims,
        documents,
        max_claims=max_claims,
        max_pairs=max_pairs,
        by_worth=seconds is not None,
    )
    contents = {document.number: content_of(document, labeler) for document in documents}
    alike = {(same[0][0].number, same[0][1].number): same for same in _folded(pairs, contents)}
    works = await judging(
        labeler,
        [same[0] for same in alike.values()],
        lambda verdict: settle(alike[verdict.claim, verdict.document], verdict),
        meter=meter,
        cache=cache,
    )
    await time_limit.run(works)
    # of the pairs without a label, these were to be judged, so only the time can have run out
    in_time = {(claim.number, document.number) for claim, document in pairs}
    for claim in claims:
        for document in documents:
            if (place := (claim.number, document.number)) not in labels:
                reason = _OUT_OF_TIME if place in in_time else why_left_out
                pair = (claim, document)
                settle([pair], unlabelled(pair, reason, FailureKind.LEFT_OUT))
    return tuple(
        ClaimEvidence(
            claim=claim,
            labels=tuple([labels[claim.number, document.number] for document in documents]),
        )
        for claim in claims
    )


class _TimeLimit:
    """The time limit for judging a table; it becomes shorter once a claim is in dispute.

    If cached labels put a claim in dispute before the judging begins, the shorter limit applies
    from the start.
    """

    def __init__(self, seconds: float | None, seconds_if_disputed: float | None) -> None:
        self._seconds, self._shorter = seconds, seconds_if_disputed or 0.0
        self._is_shortened = False
        self._shorter_end = 0.0
        self._timeout: asyncio.Timeout | None = None

    def shorten(self) -> None:
        """Apply the shorter limit, counted from the start of the judging."""
        self._is_shortened = True
        if self._timeout is not None and (end := self._timeout.when()) is not None:
            self._timeout.reschedule(min(end, self._shorter_end))

    async def run(self, works: Sequence[Work]) -> None:
        """Run all work concurrently, and cancel work that is not finished in time."""
        seconds = self._seconds
        if seconds is not None and seconds <= 0:
            return
        self._shorter_end = asyncio.get_running_loop().time() + self._shorter
        if self._is_shortened and seconds:
            seconds = min(seconds, self._shorter)
        timeout = self._timeout = asyncio.timeout(seconds)
        try:
            async with timeout, together() as start:
                for work in works:
                    start(work)
        except TimeoutError:
            if not timeout.expired():  # the timeout of a call, not of this table
                raise
        finally:
            # the labels of skipped pairs, which follow, must not change the limit
            self._timeout = None


def _may_be_disputed(labels: Sequence[Label]) -> bool:
    """Return whether a claim has evidence on both sides, or two documents against it."""
    against = labels.count(Label.CONTRADICTS)
    return against > 1 or (against == 1 and Label.SUPPORTS in labels)


def _ordered(
    claims: Sequence[Claim],
    documents: Sequence[Document],
    *,
    max_claims: int | None,
    max_pairs: int | None,
    by_worth: bool,
) -> tuple[list[Pair], str]:
    """Return the pairs in the order of judging, and why any other pairs are left out.

    A claim is judged against every document, since a conflict needs both sides. Documents are left
    out only if ``max_pairs`` is smaller than the number of documents.
    """
    wanted = len(claims) if max_claims is None else max_claims
    allowed = wanted if max_pairs is None or not documents else max_pairs // len(documents)
    most, cut = max(1, min(wanted, allowed)), allowed == 0
    worth = overlap_scores(claims, documents) if by_worth or cut or most < len(claims) else []
    rows = most_overlapping(worth, most) if most < len(claims) else range(len(claims))
    places = [(row, column) for column in range(len(documents)) for row in rows]
    if by_worth or cut:
        places.sort(key=lambda place: -worth[place[0]][place[1]])
    pairs = [(claims[row], documents[column]) for row, column in places]
    return pairs[:max_pairs], _TOO_MANY_CLAIMS if wanted <= allowed else _TOO_MANY_PAIRS


def _folded(pairs: Sequence[Pair], contents: Mapping[int, str]) -> list[list[Pair]]:
    """Return the pairs in groups of the same content, so that one verdict holds for each group.

    ``contents`` has the hash of each document, by number.
    """
    alike: dict[tuple[str, str], list[Pair]] = {}
    for claim, document in pairs:
        content = (claim.text, contents[document.number])
        alike.setdefault(content, []).append((claim, document))
    return list(alike.values())


def overlap_scores(claims: Sequence[Claim], documents: Sequence[Document]) -> list[list[float]]:
    """Estimate how much each document says about each claim, in [0, 1].

    The estimate is the share of a claim's words that occur in the document; the fewer documents
    contain a word, the more it weighs. Words that occur in no document are ignored. The result has
    one row for each claim, with one number for each document.
    """
    contents = [set(terms_in(f"{document.title} {document.text}")) for document in documents]
    spread = Counter(word for words in contents for word in words)
    rows = []
    for claim in claims:
        # sorted, so that the sums of floats are the same in every process
        known_words = [word for word in sorted(set(terms_in(claim.text))) if word in spread]
        weights = {word: log(1 + len(documents) / spread[word]) for word in known_words}
        total = sum(weights.values())
        rows.append(
            [
                sum(weight for word, weight in weights.items() if word in words) / total
                if total
                else 0.0
                for words in contents
            ]
        )
    return rows


def most_overlapping(rows: Sequence[Sequence[float]], most: int) -> list[int]:
    """Return the indices of the claims that the documents cover best, in ascending order.

    Only the two documents that say most about a claim count, since a conflict requires two.
    """
    worth = [sum(sorted(row, reverse=True)[:2]) for row in rows]
    best = sorted(range(len(rows)), key=lambda index: -worth[index])[:most]
    return sorted(best)
