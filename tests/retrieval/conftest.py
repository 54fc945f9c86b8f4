from tests.embedding_model import minilm_path as minilm_path
