"""How many calls an endpoint is taken to bear, by a clock that the test turns."""

from conflictscore.models.limits import ConcurrencyLimit


def answer(window: ConcurrencyLimit, count: int) -> None:
    for _ in range(count):
        window.answered()


def test_it_starts_at_the_most_and_answers_never_lead_above() -> None:
    window = ConcurrencyLimit(8)
    assert window.allowed == 8
    answer(window, 100)
    assert window.allowed == 8


class TestRefusals:
    def test_a_refusal_takes_a_fifth_and_one_answered_round_gives_one_place_back(self) -> None:
        window = ConcurrencyLimit(20)
        assert window.refused(1.0, 1.1) == 0
        assert window.allowed == 16
        answer(window, 17)
        assert window.allowed == 17

    def test_refusals_of_calls_that_were_sent_before_say_nothing_new(self) -> None:
        window = ConcurrencyLimit(20)
        for n in range(20):
            assert window.refused(1.0, 1.1 + n / 100) == 0
        assert window.allowed == 16

    def test_stray_refusals_between_answers_do_not_add_up_within_two_seconds(self) -> None:
        window = ConcurrencyLimit(20)
        for n in range(10):
            window.refused(1 + n / 10, 1.05 + n / 10)
            answer(window, 1)
        assert window.allowed == 16
        window.refused(4.0, 4.1)
        assert window.allowed == 13

    def test_two_refusals_in_one_round_are_no_second_round(self) -> None:
        window = ConcurrencyLimit(20)
        window.refused(1.0, 1.1)
        answer(window, 1)
        assert window.refused(1.2, 1.3) == 0  # too soon for another decrease
        assert window.refused(1.2, 1.4) == 0
        assert window.allowed == 16

    def test_round_after_round_of_refusals_halves_it_and_asks_for_longer_and_longer_pauses(
        self,
    ) -> None:
        window, now, pauses, allowed = ConcurrencyLimit(64), 0.0, [], []
        for _ in range(9):
            pauses.append(window.refused(now, now + 0.1))
            allowed.append(window.allowed)
            now += 0.2 + pauses[-1]
        assert pauses == [0, 1, 2, 4, 8, 15, 15, 15, 15]
        assert allowed == [51, 25, 12, 6, 3, 1, 1, 1, 1]
        assert now > 60  # which takes nine rounds, and some hundred calls

    def test_an_answer_ends_the_rounds(self) -> None:
        window = ConcurrencyLimit(64)
        for n in range(4):
            window.refused(n, n + 0.1)
        answer(window, 1)
        assert window.refused(6.0, 6.1) == 0
