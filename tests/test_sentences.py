"""Sentence boundaries: a bar marks each boundary to find."""

import re
from itertools import pairwise
from unittest.mock import patch

import pytest
from hypothesis import given
from hypothesis import strategies as st

from conflictscore import sentences
from conflictscore.sentences import sentence_ends, sentence_starts

KINDS = {
    "abbrev months": """
        They met at 5 p.m. on Jan. 3.| They left.
        It opened on Feb. 4, 1932.| Its school is old.
        It closed in Sept. 1940.| Nobody came.
        On 3 Jan. 1932 it opened.| Then it rained.
        Opened Dec. 25.| Closed Apr. 2.
    """,
    "titles": """
        Dr. Hale lit it.| Mrs. Poe slept.
        Gen. Smith and Lt. Col. Brown met Sen. Ames.| They left.
        Prof. Dr. Müller kam.| Er blieb.
        Sr. García y la Sra. López llegaron.| Fue tarde.
        M. Dupont et Mme. Durand sont venus.| Ils sont partis.
        St. Paul lies north.| It is big.
        Martin Luther King Jr. Day is in January.| It is a holiday.
        See Dr. The
    """,
    "ordinals de": """
        Die Brücke wurde am 3. Mai 1932 eröffnet.| Danach schloss sie z. B. am Abend.| Nr. 5 blieb.
        Der 1. FC Köln gewann.| Es war spät.
        Am 12. Januar kam er.| Am 13. ging er.
        Ludwig XIV. regierte lange.| Er starb 1715.
        Im 19. Jahrhundert wuchs die Stadt.| Sie brannte 1871.
        12. Mai 1932 wurde die Brücke eröffnet.
        Der 2. Weltkrieg endete 1945.| Danach kam Frieden.
        Friedrich II. Barbarossa starb.| Er war alt.
    """,
    "ordinals other": """
        Most byl otevřen 12. května 1932.| Je starý.
        Broen åbnede den 3. maj 1932.| Den er gammel.
        Silta avattiin 3. toukokuuta 1932.| Se on vanha.
        A hidat 1932. május 3-án nyitották meg.| Régi híd.
        Tiltu atklāja 1932. gada 12. maijā.| Tas ir vecs.
        Sild avati 3. mail 1932.| See on vana.
        Most je otvoren 3. maja 1932. godine.| Star je.
        V 19. století rostlo město.| Shořelo.
    """,
    "abbrev de": """
        Es ist z. B. rot.| Es ist z.B. blau.| Ja.
        Die Kosten (ca. 5 Mio. Euro) stiegen.| Sie sanken.
        Er wohnt in der Str. 5.| Sie nicht.
        Vgl. Abb. 3 und S. 12.| Danach mehr.
        Das ist d. h. nichts.| Und u. a. Gold.
        Sie kam bzw. ging usw. ohne Wort.| Er blieb.
        Anm. d. Red. fehlt.| Gut.
    """,
    "abbrev other": """
        Voir p. ex. la page 5.| C'est fini.
        Il est né av. J.-C. à Rome.| Il y vécut.
        Zie bijv. Den Haag.| Het is groot.
        Np. Kraków i ul. Długa 5 są stare.| Tak.
        Véase p. ej. Madrid.| Es grande.
        Ad es. Roma è grande.| È antica.
        Pag. 5 e art. 3 sono nuovi.| Sì.
        т. е. Москва и ул. Ленина д. 5 выросли.| Да.
        Он родился в 1932 г. в Москве.| Он жил там.
        Жил в XIX в. в Риге.| Умер там.
    """,
    "figures": """
        See Fig. 2.| It is old.
        See Figs. 2 and 3 and Eq. 4 in Sec. 5.| Done.
        No. 5 is red.| No. 6 is blue.
        Cf. Smith et al. 2012.| They agree.
        Vol. 3, pp. 5-7, ch. 2.| Read it.
        Art. 5 of the act.| Par. 2 applies.
        Op. 27 was written in 1801.| It is short.
        Smith et al. found it.| We agree.
    """,
    "companies": """
        Apple Inc. is large.| It grows.
        Acme Corp. and Foo Ltd. merged.| They left.
        He works at Acme Inc.| He likes it.
        Procter & Co. Ltd. closed.| It reopened.
        Bosch GmbH u. Co. KG wuchs.| Ja.
    """,
    "decimals and versions": """
        It costs 3.5 euros.| It is cheap.
        Python 3.11.2 came out.| It is fast.
        Use v1.2.| Then v1.3.
        Section 4.2. describes it.| Read on.
        It rose .5 percent.| It fell.
        It was 1932.| Its school is old.
        He scored 3.| Then he left.
        It opened in 1932.| In 1940 it closed.
        There were 12.| They left.
        Visit www.example.com.| It is free.
        Node.js is fast.| So is Deno.
        Mail a.b@c.org.| Thanks.
    """,
    "initials": """
        The Hobbit is by J. R. R. Tolkien.| It sold well.
        J. K. Rowling wrote it.| She is rich.
        It was found by X. He and Y. Li in 1999.
        George W. Bush won.| He left.
        It ended World War I.| Then it rained.
        It was sold in the U.S.| In 1920 it closed.
        The U.S. Navy came.| It left.
        He moved to the U.S. and stayed.| Fine.
        John F. Kennedy spoke at 9 a.m. Eastern.| He left.
        It ended World War I.| Pandemics followed.
        Toxicity was of grade 2.| IL-6 was raised in all.
        It has vitamin C.| It is sour.
        He served under George I.| He died there.
        *So did I.*| The rest slept.
        John I. Smith lit it.
        Some lamps, e.g. The Point, are red.
    """,
    "ellipses": """
        Well... maybe.| It rained.
        He waited… and left.| It rained.
        He waited...| Then he left.
        He said “well . . . maybe” and left.| It rained.
        It was [...] old.| It fell.
    """,
    "quotes": """
        “Is it?” he asked.| Yes.
        He said, “It is old.”| She left.
        "Stop!" he cried.| She ran.
        „Das ist gut.“| Er ging.
        « C'est vrai. »| Il part.
        He wrote (see below).| It ended.
        (It was old.)| It fell.
        It is called “Go!” in English.| It sold.
        It is *old.*| It is **new.**| Yes.
    """,
    "cjk": """
        灯塔建于1874年。|它是白色的。
        “灯塔！”|他说。
        「灯台だ。」|彼は言った。
        本当？|はい。
        价格是3.5元。|很便宜。
        이것은 등대다.| 하얗다.
        他说：“灯塔建于1874年。”|她走了。
    """,
    "other scripts": """
        यह लाल है।| वह नीला है।
        هل هو؟| نعم.
        چراغ جلا۔| پھر گھر بنا۔
        Ի՞նչ է։| Այո։
        Είναι έτσι;| Ναι.
    """,
    "citations": """
        It was lit in 1871 [1].| It is old.
        It was lit in 1871.[1][2]| It is old.
        It is old.¹| It fell.
        It is old (Smith, p. 5).| It fell.
    """,
    "texts": """
        No. It was red.
        Yes. It was.
        Yes! It was.
        What?!| He left.
        A. The lamp was lit
        Lamps, oil etc. were sold.| They burned.
        They sold lamps, oil, etc.| They left.
        He lives in Washington, D.C.| He is old.
        It is 5 ft. tall.| It is 3 in. wide.
        approx. 5 km and max. 6 km.| Done.
        He came at 5 p.m.| He left.
        Temperatures of 25 °C.| It is warm.
        vs. Smith it lost.| It won.
        e.g. London or i.e. Paris.| Both.
        It is by Poe et al.| It is new.
        It happened circa 500 B.C.| Then came Rome.
        ca. 500 v. Chr. entstand es.| Es fiel.
        Mt. Everest and Ft. Worth.| Far.
        He has a Ph.D. in law.| She too.
        He has a Ph.D.| She too.
        It weighs 5 kg.| It is 3 m.
    """,
}


@pytest.mark.parametrize("kind", KINDS)
def test_sentences_end_where_sentences_end(kind: str) -> None:
    for line in filter(None, map(str.strip, KINDS[kind].splitlines())):
        text = line.replace("|", "")
        ends = [*sentence_ends(text), len(text)]
        said = [text[start:end] for start, end in pairwise([0, *dict.fromkeys(ends)])]
        assert "|".join(said) == line


@given(st.text(st.sampled_from('Ab1 .!?…"“”()[]*\n。」é;')))
def test_ends_and_starts_ascend_and_starts_stand_at_words(text: str) -> None:
    ends, starts = list(sentence_ends(text)), sentence_starts(text)
    assert ends == sorted({*ends})
    assert starts == sorted({*starts})
    assert all(0 < end <= len(text) for end in ends)
    assert all(text[start : start + 1].strip() for start in starts[1:])


def test_lines_begin_sentences() -> None:
    assert sentence_starts("a\n\n  bee. C\nd ") == [0, 5, 10, 12]


_ABBREVIATIONS = sorted(sentences._MAY_END) + re.findall(
    r"[A-Za-z]{2,}", sentences._NEVER_ENDS.pattern
)
_WORDS = [*_ABBREVIATIONS, "circa", "approx", "stopped", "rhythms", "naïve", "12"]
_AROUND = ["It saw {} The end. It", "({} She) left.", "{} he", "{} [1] He", "{}\nHe", "{}” Then"]


@pytest.mark.parametrize("around", _AROUND)
def test_an_end_that_is_found_at_once_is_one_by_all_rules(around: str) -> None:
    texts = [
        around.format(f"{form}.") for word in _WORDS for form in (word, word.title(), word.lower())
    ]
    at_any_mark = re.compile(f"{sentences._MARK}(?:{sentences._AFTER_ANY_MARK})")
    with patch.object(sentences, "_END", at_any_mark):
        by_all_rules = [list(sentence_ends(text)) for text in texts]
    assert [list(sentence_ends(text)) for text in texts] == by_all_rules
