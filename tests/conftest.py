"""What every test stands on: no network, no GPU, one thread, the same examples every time."""

import os

# Set before torch or transformers is imported, and inherited by the processes tests start.
os.environ["HF_HUB_OFFLINE"] = "1"
os.environ["CUDA_VISIBLE_DEVICES"] = ""
os.environ["OMP_NUM_THREADS"] = "1"
os.environ["TOKENIZERS_PARALLELISM"] = "false"
os.environ["MPLBACKEND"] = "Agg"

import hypothesis

# One thread on a shared machine is slow now and then: a deadline would test the machine.
hypothesis.settings.register_profile("holdfast", deadline=None, derandomize=True, database=None)
hypothesis.settings.load_profile("holdfast")
