from .review_routes import add_runs_page as add_runs_page
