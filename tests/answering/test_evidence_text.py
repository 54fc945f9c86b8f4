"""Both sides of a claim, with the reasons for each document."""

from conflictscore.answering.evidence_text import conflict_details, sourced_details, witnesses
from conflictscore.prompts import PromptSet
from conflictscore.records import Claim, ClaimEvidence, Document, EvidenceLabel, Label

PROMPTS = PromptSet.load()
CLAIM = Claim(number=1, text="The lamp was lit in 1871.")
LIT = "It opened late. The lamp was lit in 1871."
DOCUMENTS = (
    Document(number=1, text=LIT, title="Gazette", url="https://www.gazette.test/a"),
    Document(number=2, text=LIT, url="https://copy.test/", duplicate_of=1),
    Document(
        number=3, text="The lamp dates from 1874.", title="Log", metadata={"date": "1999-05-01"}
    ),
    Document(number=4, text=LIT, duplicate_of=1),
)
SIDES = (Label.SUPPORTS, Label.SUPPORTS, Label.CONTRADICTS, Label.SUPPORTS)
EVIDENCE = ClaimEvidence(
    claim=CLAIM,
    labels=tuple(
        EvidenceLabel(claim=1, document=number, label=label, reasoning="The years\nwere compared.")
        for number, label in enumerate(SIDES, start=1)
    ),
)


def test_near_copies_are_folded_into_the_first_and_counted() -> None:
    [first] = witnesses(EVIDENCE, Label.SUPPORTS, DOCUMENTS)
    assert first.document.number == 1
    assert first.copies == (2, 4)
    assert first.source == "Gazette; gazette.test; 2 near-copies: 2, 4"


def test_the_most_trusted_come_first_and_lead_their_copies() -> None:
    weights = {1: 0.2, 2: 0.1, 3: 1.0, 4: 0.9}
    [first] = witnesses(EVIDENCE, Label.SUPPORTS, DOCUMENTS, weights)
    assert (first.document.number, first.copies) == (4, (1, 2))

    told = conflict_details(EVIDENCE, DOCUMENTS, PROMPTS, weights)
    numbers = [line.split()[2] for line in told.splitlines() if line.startswith("- Document")]
    assert [number.rstrip(":") for number in numbers] == ["4", "1", "2", "3"]
    assert conflict_details(EVIDENCE, DOCUMENTS, PROMPTS, dict.fromkeys(range(1, 5), 0.3)) == (
        conflict_details(EVIDENCE, DOCUMENTS, PROMPTS)
    )


def test_each_document_is_laid_out_with_its_source_its_date_and_the_judges_reason() -> None:
    told = sourced_details(EVIDENCE, DOCUMENTS, PROMPTS)
    assert 'Document 1 (Gazette; gazette.test; 2 near-copies: 2, 4): "It opened late. The' in told
    assert 'Document 3 (Log; 1999-05-01): "The lamp dates from 1874."' in told
    assert told.count("The years were compared.") == 2
    assert "Document 2" not in told


def test_the_papers_prompt_names_every_document_and_its_passage_alone() -> None:
    told = conflict_details(EVIDENCE, DOCUMENTS, PROMPTS)
    assert told.count(LIT) == 3
    assert "Gazette" not in told
    assert "compared" not in told


def test_a_quotation_is_shown_as_it_stands_in_the_document_whole_or_in_pieces() -> None:
    def told(snippet: str) -> str:
        verdict = EvidenceLabel(claim=1, document=1, label=Label.SUPPORTS, snippet=snippet)
        evidence = ClaimEvidence(claim=CLAIM, labels=(verdict,))
        return conflict_details(evidence, DOCUMENTS, PROMPTS)

    assert '"The lamp was lit"' in told("The lamp was lit")
    assert '"It opened […] in 1871"' in told("It opened … in 1871.")
    assert f'"{LIT}"' in told("It was dark.")


def test_a_long_quotation_reason_or_source_is_cut_where_room_ends() -> None:
    text = "The lamp was lit in 1871, " + "and it burned on and on, " * 40
    document = Document(number=1, text=text, title="T" * 130)

    def told(snippet: str) -> str:
        verdict = EvidenceLabel(
            claim=1, document=1, label=Label.SUPPORTS, snippet=snippet, reasoning="r" * 310
        )
        evidence = ClaimEvidence(claim=CLAIM, labels=(verdict,))
        [witness] = witnesses(evidence, Label.SUPPORTS, [document])
        assert (witness.reason, witness.source) == ("r" * 300, "T" * 120)
        return conflict_details(evidence, [document], PROMPTS)

    assert f'"{text[:400]}"' in told(text[:400])
    assert f'"{text[:400].rstrip()} …"' in told(text[:421]).replace("  …", " …")
