"""The HTTP routes of the runs page: lists of runs, their reviews, counts, and exports.

Requests to these routes are admitted like all other requests to the service. A caller sees and
reviews only the runs of their own key. A caller whose key has ``runs=all`` sees and reviews the
runs of every key.

Limits without a stated reason were chosen by hand.
"""

import logging
import time
from itertools import islice
from typing import Annotated, Literal

from fastapi import APIRouter, Depends, FastAPI, Request
from fastapi.responses import Response
from pydantic import BaseModel, ConfigDict, Field

from conflictscore.benchmarks.harness.report.reviews import AnswerVerdict, ChangeVerdict, Review
from conflictscore.errors import ConfigurationError
from conflictscore.middleware.service.admission import AdmissionGate, read_body
from conflictscore.middleware.service.app import page_file
from conflictscore.middleware.service.kept_runs import ListedRun, RunFilter
from conflictscore.middleware.service.keys import KeyHolder
from conflictscore.middleware.service.refusals import RefusedError
from conflictscore.middleware.service.requests import read_json, refusing
from conflictscore.middleware.service.routes import Caller, Shared, read_kept
from conflictscore.middleware.service.service import Service
from conflictscore.middleware.service.wire import JsonResponse
from conflictscore.records import RunStatus
from conflictscore.reviewing.kept_reviews import (
    EXPORTS,
    MOST_EXPORTED,
    KeptReviews,
    counts,
    exported,
)
from conflictscore.threads import in_thread

_log = logging.getLogger(__name__)

# Numbers of entries on one page of a list; the browser requests further pages.
_PAGE_RUNS, _PAGE_REVIEWS = 30, 20
# An export is built in memory, so only one export is built at a time. Other exports wait for at
# most this many seconds.
_EXPORT_WAITS_S = 60.0
_routes = APIRouter()


def add_runs_page(app: FastAPI) -> None:
    """Add the runs page to a service (:func:`~conflictscore.middleware.create_app`), at ``/runs``.

    Raises:
        InputError: The reviews file beside the service's runs cannot be read.
        ConfigurationError: The service's store cannot be used.
    """
    service: Service = app.state.service
    app.state.reviews = KeptReviews(service.settings.runs_file, service.store)
    app.state.exports = AdmissionGate(1)
    app.include_router(_routes)


async def _reviews_of(request: Request, caller: Caller) -> KeptReviews:
    """Return the current reviews, for admitted callers only."""
    reviews: KeptReviews = request.app.state.reviews
    await read_kept(reviews.refresh)
    return reviews


Reviewed = Annotated[KeptReviews, Depends(_reviews_of)]


class _RunQuery(BaseModel):
    """The query parameters of a request that select runs."""

    model_config = ConfigDict(extra="forbid")

    status: RunStatus | Literal[""] = ""
    changed: bool | None = None
    disputed: bool | None = None
    review: Literal["", "open", "reviewed"] = ""
    reviewer: Annotated[str, Field(max_length=100)] = ""
    q: Annotated[str, Field(max_length=500)] = ""
    page: Annotated[int, Field(ge=1, le=1_000_000)] = 1
    to: str = ""

    def runs(self, caller: KeyHolder, reviews: KeptReviews) -> RunFilter:
        """Return the filter for the requested runs.

        If a reviewer is named, the filter selects the runs that this reviewer has reviewed. With
        ``review`` set to ``open``, the filter selects the runs that the reviewer has not reviewed
        yet.
        """
        reviewed_ids = reviews.reviewed(self.reviewer)
        # a reviewer's name without ``review`` means the runs that this reviewer has reviewed
        only = self.review == "reviewed" or (self.reviewer and not self.review)
        return RunFilter(
            owner=caller.reads,
            status=self.status,
            flipped=self.changed,
            disputed=self.disputed,
            words=self.q,
            among=reviewed_ids if only else None,
            without=reviewed_ids if self.review == "open" else (),
        )


async def _run_query(request: Request) -> _RunQuery:
    with refusing():
        # an empty parameter, such as ``status=``, means no filter
        return _RunQuery.model_validate({k: v for k, v in request.query_params.items() if v})


QueriedRuns = Annotated[_RunQuery, Depends(_run_query)]


class _ReviewBody(BaseModel):
    """The body of a request that sends a review.

    The lengths are limited because all reviews are kept in memory.
    """

    model_config = ConfigDict(extra="forbid", strict=True, str_strip_whitespace=True)

    reviewer: Annotated[str, Field(min_length=1, max_length=100)]
    verdict: str
    decided_by: Annotated[
        list[Annotated[int, Field(ge=1, le=999_999)]], Field(max_length=1000)
    ] = []
    comment: Annotated[str, Field(max_length=4000)] = ""


@_routes.get("/runs")
async def runs_page() -> Response:
    """Return the HTML page. The page needs no key, but the data that it loads does."""
    return page_file("runs.html")


@_routes.get("/v1/runs")
async def runs(service: Shared, caller: Caller, reviews: Reviewed, query: QueriedRuns) -> Response:
    """Return one page of the list of runs, newest first."""
    run_filter, after = query.runs(caller, reviews), _PAGE_RUNS * (query.page - 1)
    total, runs_of_page = await read_kept(
        lambda: service.runs.listed(run_filter, _PAGE_RUNS, after)
    )
    return JsonResponse(
        {
            "object": "list",
            "data": [
                {**run._asdict(), "reviewers": list(reviews.of(run.run_id))} for run in runs_of_page
            ],
            "total": total,
            "page": query.page,
            "pages": max(1, -(-total // _PAGE_RUNS)),
            "has_more": after + len(runs_of_page) < total,
        }
    )


@_routes.get("/v1/runs/{run_id}/reviews")
async def reviews_of_run(
    run_id: str, service: Shared, caller: Caller, reviews: Reviewed, query: QueriedRuns
) -> Response:
    """Return one page of a run's reviews, and the verdicts that reviewers can give the run."""
    run = await _run(service, caller, run_id)
    scale = ChangeVerdict if run.flipped else AnswerVerdict
    run_reviews, end = reviews.of(run_id), _PAGE_REVIEWS * query.page
    reviews_of_page = list(islice(run_reviews.items(), end - _PAGE_REVIEWS, end))
    return JsonResponse(
        {
            "verdicts": list(scale),
            "reviews": {who: review.to_json() for who, review in reviews_of_page},
            "total": len(run_reviews),
            "has_more": end < len(run_reviews),
            "kept_in": reviews.kept_in,
        }
    )


@_routes.post("/v1/runs/{run_id}/reviews")
async def review(
    run_id: str, request: Request, service: Shared, caller: Caller, reviews: Reviewed
) -> Response:
    """Store a reviewer's verdict. A later verdict by the same reviewer replaces it."""
    with service.uploads.of(caller.name) as count:
        body = read_json(await read_body(request, service.settings.max_body, count))
    with refusing():
        review_body = _ReviewBody.model_validate(body)
    run = await _run(service, caller, run_id)
    if not run.question or not run.answer:
        raise RefusedError(409, "this run has no answer to review", code="nothing_to_review")
    scale = ChangeVerdict if run.flipped else AnswerVerdict
    if review_body.verdict not in set(scale):
        message = f"verdict: for this run it must be one of {', '.join(scale)}"
        raise RefusedError(400, message, code="invalid_value", param="verdict")
    if reviews.is_name_of_another(review_body.reviewer, caller.name):
        message = (
            "reviewer: this name belongs to a reviewer with a different key; use a different name"
        )
        raise RefusedError(403, message, code="name_of_another", param="reviewer")
    if no_room := reviews.no_room_for(run_id, review_body.reviewer):
        raise RefusedError(409, no_room, code="too_many_reviews")
    review = Review(
        verdict=scale(review_body.verdict),
        decided_by=tuple(sorted(set(review_body.decided_by))),
        comment=review_body.comment,
    )
    try:
        await in_thread(lambda: reviews.add(run_id, review_body.reviewer, review, caller.name))
    except ConfigurationError as error:
        _log.error("%s", error)
        message = "the review could not be stored; the service's log says why"
        raise RefusedError(503, message, code="review_not_kept") from error
    return JsonResponse(review.to_json(), 201)


@_routes.get("/v1/reviews")
async def totals(service: Shared, caller: Caller, reviews: Reviewed) -> Response:
    """Return how many runs were reviewed, the verdicts, and how far reviewers agree."""
    everything = RunFilter(owner=caller.reads)
    _, all_runs = await read_kept(lambda: service.runs.listed(everything))
    return JsonResponse(await in_thread(lambda: counts(all_runs, reviews)))


@_routes.get("/v1/reviews/export")
async def export(
    request: Request, service: Shared, caller: Caller, reviews: Reviewed, query: QueriedRuns
) -> Response:
    """Return the selected runs with their reviews, in a format of ``conflictscore export``."""
    if query.to not in EXPORTS:
        message = f"to: it must be one of {', '.join(EXPORTS)}"
        raise RefusedError(400, message, code="invalid_value", param="to")
    gate: AdmissionGate = request.app.state.exports
    async with gate.admit(time.monotonic() + _EXPORT_WAITS_S):
        run_filter = query.runs(caller, reviews)
        total, found_runs = await read_kept(lambda: service.runs.listed(run_filter, MOST_EXPORTED))
        if total > MOST_EXPORTED:
            raise RefusedError(
                413,
                f"{total} runs are too many to export here; the limit is {MOST_EXPORTED}."
                " Narrow the list, or run conflictscore export on the --runs-file",
                code="too_many_runs",
            )
        ids = [run.run_id for run in reversed(found_runs)]
        stored_runs = await read_kept(lambda: list(service.runs.entries(ids)))
        content = await in_thread(lambda: exported(query.to, stored_runs, reviews))
    headers = {"content-disposition": f'attachment; filename="runs.{query.to}"'}
    return Response(content, media_type=EXPORTS[query.to], headers=headers)


async def _run(service: Service, caller: KeyHolder, run_id: str) -> ListedRun:
    run_filter = RunFilter(owner=caller.reads, among=(run_id,))
    _, found_runs = await read_kept(lambda: service.runs.listed(run_filter, 1))
    if not found_runs:
        raise RefusedError(
            404, "there is no such run, or it is no longer stored", code="run_not_found"
        )
    return found_runs[0]
