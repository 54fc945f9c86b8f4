from .agent import ConflictScoreMiddleware as ConflictScoreMiddleware
from .chat_model import SelfCorrectingChatModel as SelfCorrectingChatModel
from .decorator import self_correct as self_correct
from .outer_verdict import carry_verdict as carry_verdict
from .service import ServiceSettings as ServiceSettings
from .service import create_app as create_app
