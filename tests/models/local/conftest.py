from tests.local_model import smollm2_path as smollm2_path
