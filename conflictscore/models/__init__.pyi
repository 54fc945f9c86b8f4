from .fitting import Fitted as Fitted
from .fitting import fit_documents as fit_documents
from .language_model import LanguageModel as LanguageModel
from .ledger import Ledger as Ledger
from .ledger import attach as attach
from .limits import ConcurrencyLimit as ConcurrencyLimit
from .prices import Price as Price
from .prices import PriceTable as PriceTable
from .spec import default_spec as default_spec
from .spec import from_chat_model as from_chat_model
from .spec import open_model as open_model
from .usage import UsageMeter as UsageMeter

LOCAL_ENDPOINT: str
