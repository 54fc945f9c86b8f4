"""Prints a finished run to the terminal.

All texts are untrusted: markup is escaped and control characters are removed.

Limits without a stated reason were chosen by hand.
"""

from collections import Counter
from collections.abc import Iterable, Iterator, Sequence

from rich.console import Console
from rich.padding import Padding
from rich.table import Table
from rich.text import Text

from conflictscore.answering.evidence_text import Witness, witnesses
from conflictscore.records import (
    ClaimEvidence,
    ConflictReport,
    Document,
    FurtherSearch,
    Label,
    Run,
    Usage,
    WeightedScores,
)

_SHOWN_CHARS = 400
"""Maximum number of characters shown of a document that a search found."""

_CHECKED = {
    "fully": ("fully", "green"),
    "partly": ("in part", "yellow"),
    "no": ("no", "red"),
    None: ("no, the run did not finish", "red"),
}
"""Words for how far an answer was checked, and the colour of these words."""

_CONTROLS = {code: " " for code in (*range(32), *range(127, 160)) if chr(code) not in "\n\t"}
_MARKS = (0x061C, 0x200E, 0x200F)  # Unicode's ALM, LRM and RLM
_BIDI = dict.fromkeys((*_MARKS, *range(0x202A, 0x202F), *range(0x2066, 0x206A)), " ")


def printable(value: object) -> str:
    """Replace control characters, and marks that change the text direction, by spaces."""
    return str(value).translate(_CONTROLS | _BIDI).strip()


def tokens_in(usage: Usage) -> str:
    """Describe the number of input tokens, and how many came from the provider's prompt cache."""
    cached_tokens = usage.cache_read_tokens
    cache_note = f" ({cached_tokens:,} from the provider's cache)" if cached_tokens else ""
    return f"{usage.input_tokens:,} tokens in{cache_note}"


def print_run(run: Run, console: Console, *, details: bool = True) -> None:
    """Print the answer, how far it was checked, its changes and their reasons, and its claims.

    An answer that was only scored is not printed.

    Args:
        run: A run, finished or not.
        console: The terminal to print on.
        details: Whether to also print the votes of the documents, what each document says about a
            disputed claim, and the list of documents. In a brief report, each claim takes one line.
    """
    if run.question is not None:  # a run without a question only scored an answer
        _heading(console, "Answer")
        _indented(console, run.answer or "")
    _print_checked(run, console)
    _print_changes(run, console)
    if details:
        _print_details(run, console)
        return
    if report := run.answer_report:
        _print_summary(report, console)
    _print_notes(_notes_beside(run), console)
    console.print(Text(f"{_cost(run)}   details: --details", style="dim"))


def _print_checked(run: Run, console: Console) -> None:
    """Print how far the answer was checked, and the most important gap."""
    gaps = run.examined.gaps if run.examined else ()
    main = run.examined.main_gap if run.examined else None
    words, style = _CHECKED[run.checked]
    why = f": {printable(main.note)}" if main else ""
    more = f" (and {len(gaps) - 1} more, noted below)" if len(gaps) > 1 else ""
    line = Text.assemble(("\nChecked: ", "bold"), (words, style), f"{why}{more}")
    console.print(line)


def _notes_beside(run: Run) -> tuple[str, ...]:
    """Return the notes, except the note on the main gap, which is already printed."""
    main = run.examined.main_gap if run.examined else None
    return tuple(note for note in run.notes if main is None or note != main.note)


def _print_summary(report: ConflictReport, console: Console) -> None:
    """Print the scores, and, for each claim, how many documents are for it and against it."""
    _heading(console, "Claims")
    _indented(console, f"{_scores(report)}   (0 is best)")
    for evidence in report.claims:
        sides = f"{len(evidence.supports)} for, {len(evidence.contradicts)} against"
        state = _state_of(evidence, report)
        mark = Text(f" {state} ", style="black on yellow") if state else ""
        number, text = evidence.claim.number, printable(evidence.claim.text)
        line = Text.assemble(f"{number}. {text}   ", (sides, "dim"), "  ", mark)
        console.print(Padding(line, (0, 2), expand=False))


def _state_of(evidence: ClaimEvidence, report: ConflictReport) -> str:
    """Return a claim's state: that it is in conflict, or why it is disputed; empty if neither."""
    how = "conflict" if evidence.conflicting else ""
    if evidence.claim.number in report.disputed:
        return report.why_disputed(evidence) or how
    return how


def _print_details(run: Run, console: Console) -> None:
    _second_looks(run, console)
    if run.searches:
        _heading(console, "Further searches")
        for search in run.searches:
            _indented(console, _looked_further(search))
    first, final = run.report, run.final_report
    if first and final and _judged(final) != _judged(first):
        _print_claims("Claims of the first answer", first, run.documents, console)
        _print_claims("Claims of the last answer", final, run.documents, console)
    elif report := final or first:  # the same claims and votes, with the latest scores
        _print_claims("Claims", report, run.documents, console)
    _print_sources(run, console)


def _print_changes(run: Run, console: Console) -> None:
    """Print each changed passage, or say that the whole answer was changed or kept."""
    applied_changes = run.applied_changes
    if applied_changes and not any(change.whole for change in applied_changes):
        _heading(console, "Changed in place after a second look")
        for change in applied_changes:
            rows = [
                (change.action.value, f"“{printable(change.before)}”"),
                ("now", change.after or "(nothing)"),
                ("why", change.reason or "no reason was given"),
            ]
            _grid(console, rows)
    elif run.flipped:
        _heading(console, "Changed after a second look")
        why = run.justification or "no reason was given"
        before, after = run.first_answer or "(nothing)", run.answer or "(nothing)"
        _grid(console, [("before", before), ("after", after), ("why", why)])
    elif run.final_report is not None:
        _heading(console, "Kept after a second look")
        _indented(console, _why_kept(run))


def _second_looks(run: Run, console: Console) -> None:
    """Print, for each disputed claim, how the documents voted, and which changes were refused."""
    changes = [change for change in run.changes if change.looks]
    if changes:
        _heading(console, "How the documents voted")
    for change in changes:
        # lines that were printed above as the reasons of the change
        printed_reasons = {change.reason, *(look.why for look in change.looks)}
        if change.note and not change.applied:
            printed_reasons = {""}  # only the note was printed
        for line in change.told():
            if line not in printed_reasons:
                _indented(console, line)


def _why_kept(run: Run) -> str:
    whys = [change.note or change.reason for change in run.changes]
    reasons = " ".join(dict.fromkeys(filter(None, whys)))
    return run.justification or reasons or "No reason was given."


def _looked_further(search: FurtherSearch) -> str:
    outcomes = [
        f"{name} {', '.join(map(str, numbers))}"
        for name, numbers in (("new", search.found), ("already known", search.known))
        if numbers
    ]
    if search.left_out:
        outcomes.append(f"{len(search.left_out)} left out")
    came = "; ".join(outcomes) or ("" if search.note else "nothing")
    query = " ".join(printable(search.query or search.claim).split())
    return f"“{query}”: {'; '.join(filter(None, [came, printable(search.note or '')]))}"


def print_documents(documents: Sequence[Document], notes: Sequence[str], console: Console) -> None:
    """Print the documents of a search, each with its source and the beginning of its text."""
    for document in documents:
        metadata = document.metadata
        facts = [str(metadata[key]) for key in ("provider", "date", "passage") if metadata.get(key)]
        if metadata.get("text_from") == "page":
            facts.append("text of the page")
        if error := metadata.get("page_error"):
            facts.append(f"snippet only: {error}")
        if document.duplicate_of:
            facts.append(f"nearly the same text as document {document.duplicate_of}")
        title = printable(document.title) or printable(document.url) or "(no title)"
        console.print(Text.assemble(f"{document.number}. ", (title, "bold")))
        if document.title:
            _indented(console, document.url)
        if facts:
            console.print(Padding(Text(printable(", ".join(facts)), style="dim"), (0, 2)))
        text = " ".join(printable(document.text).split())
        _indented(console, text if len(text) <= _SHOWN_CHARS else f"{text[:_SHOWN_CHARS]} …")
        console.print()
    _print_notes(notes, console)


def _print_claims(
    title: str, report: ConflictReport, documents: Sequence[Document], console: Console
) -> None:
    _heading(console, title)
    pairs = [pair for evidence in report.claims for pair in evidence.labels]
    labelled_pairs = f"{sum(pair.error is None for pair in pairs)} of {len(pairs)} pairs labelled"
    _indented(console, f"{_scores(report)}   {labelled_pairs}   (0 is best)")
    if weighted_scores := report.weighted:
        _indented(
            console,
            f"{_scores(weighted_scores)}   with documents weighted by the trust"
            f" {weighted_scores.by}",
        )
    if stages := Counter(pair.stage for pair in pairs if pair.stage):
        stages_in_words = (f"{stage} {count}" for stage, count in stages.most_common())
        _indented(console, f"pairs decided by: {', '.join(stages_in_words)}")
    for evidence in report.claims:
        number, text = evidence.claim.number, printable(evidence.claim.text)
        state = _state_of(evidence, report)
        mark = Text(f" {state} ", style="black on yellow") if state else ""
        line = Text.assemble(f"{number}. ", text, "  ", mark)
        console.print(Padding(line, (1, 2, 0, 2), expand=False))
        _grid(console, _sides(evidence, report, documents), 5)  # indented below the claim's text


def _sides(
    evidence: ClaimEvidence, report: ConflictReport, documents: Sequence[Document]
) -> Iterator[tuple[str | Text, str | Text]]:
    """Yield the documents by label and, for a contradicted claim, their words and the reasons."""
    for name, label, style in (
        ("supports", Label.SUPPORTS, "green"),
        ("contradicts", Label.CONTRADICTS, "red"),
        ("unlabelled", Label.UNLABELLED, "dim"),
    ):
        if not (numbers := evidence.documents(label)):
            continue
        count_text = ", ".join(map(str, numbers))
        independent = evidence.independent(label, report.duplicates)
        if label is not Label.UNLABELLED and independent != len(numbers):
            count_text += f" ({independent} independent)"
        yield Text(name, style=style), count_text
        if evidence.contradicts and label is not Label.UNLABELLED:
            yield from (("", _shown(witness)) for witness in witnesses(evidence, label, documents))
    if evidence.claim.number in report.uncovered:
        yield Text("uncovered", style="dim"), "no document mentions it"


def _judged(report: ConflictReport) -> list[tuple[str, tuple[int, ...], tuple[int, ...]]]:
    """Return the part of a report that is printed; reports that are equal in it print once."""
    return [(e.claim.text, e.supports, e.contradicts) for e in report.claims]


def _shown(witness: Witness) -> Text:
    """Return a document's own words on a disputed claim, their source, and the judge's reason."""
    source = f"{witness.document.number}. {printable(witness.source)}"
    passage = f"\n“{printable(witness.passage)}”" if witness.passage else ""
    reason = f"\n{printable(witness.reason)}" if witness.reason else ""
    return Text.assemble((source, "dim"), passage, (reason, "dim"))


def _print_sources(run: Run, console: Console) -> None:
    _heading(console, "Documents")
    report = run.final_report or run.report
    weights = report.weights if report else {}
    rows = []
    for document in run.documents:
        title, url = printable(document.title), printable(document.url)
        source = f"{title}  {url}" if title else url or "(no title)"
        original = document.duplicate_of
        hint = f"  nearly the same text as document {original}" if original else ""
        if document.number in weights:
            hint += f"  weight {weights[document.number]:.2f}"
        rows.append((str(document.number), Text.assemble(source, (hint, "dim"))))
    _grid(console, rows)
    _print_notes(_notes_beside(run), console)
    console.print(Text(_cost(run), style="dim"))


def _cost(run: Run) -> str:
    usage = run.usage
    return (
        f"\n{usage.calls} model call{'' if usage.calls == 1 else 's'},"
        f" {usage.cached_calls} from the cache,"
        f" {tokens_in(usage)}, {usage.output_tokens:,} out   run {run.run_id}"
    )


def _print_notes(notes: Sequence[str], console: Console) -> None:
    for note in notes:
        console.print(Text(f"Note: {printable(note)}", style="yellow"))


def _heading(console: Console, title: str) -> None:
    console.print(Text(f"\n{title}", style="bold"))


def _indented(console: Console, text: str) -> None:
    console.print(Padding(Text(printable(text)), (0, 2), expand=False))


def _grid(console: Console, rows: Iterable[tuple[str | Text, str | Text]], indent: int = 2) -> None:
    """Print two columns of plain text, in which Rich does not interpret markup."""
    table = Table.grid(padding=(0, 2))
    table.add_column(no_wrap=True)
    table.add_column(overflow="fold")
    for row in rows:
        table.add_row(*(cell if isinstance(cell, Text) else Text(printable(cell)) for cell in row))
    console.print(Padding(table, (0, indent), expand=False))


def _scores(of: ConflictReport | WeightedScores) -> str:
    cs_c, cs_r = ("none" if score is None else f"{score:.2f}" for score in (of.cs_c, of.cs_r))
    return f"CS-C {cs_c}   CS-R {cs_r}"
