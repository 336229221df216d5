"""Fine-tune a Gemma model with LoRA on all GPUs of one node, and continue from the last checkpoint after a restart.

`accelerate launch` starts one process for each GPU. MODEL names the model on Hugging Face (its license must be accepted
by the owner of the token in the file HF_TOKEN_PATH), OUTPUT_DIR a folder that outlives the pod.
"""

from __future__ import annotations

import os
import pathlib

import torch
from datasets import load_dataset
from peft import LoraConfig
from transformers import AutoModelForCausalLM, AutoTokenizer
from trl import SFTConfig, SFTTrainer

MODEL = os.environ.get("MODEL", "google/gemma-2b")
OUTPUT_DIR = pathlib.Path(os.environ.get("OUTPUT_DIR", "/output"))


def tune() -> None:
    """Train an adapter, and write it to OUTPUT_DIR."""
    dataset = load_dataset("b-mc2/sql-create-context", split="train[:2000]").map(
        lambda row: {"text": f"### Question\n{row['question']}\n### Tables\n{row['context']}\n### SQL\n{row['answer']}"}
    )
    trainer = SFTTrainer(
        model=AutoModelForCausalLM.from_pretrained(MODEL, dtype=torch.bfloat16, attn_implementation="eager"),
        processing_class=AutoTokenizer.from_pretrained(MODEL),
        train_dataset=dataset,
        peft_config=LoraConfig(r=16, lora_alpha=32, target_modules="all-linear", task_type="CAUSAL_LM"),
        args=SFTConfig(
            output_dir=str(OUTPUT_DIR),
            num_train_epochs=1,
            per_device_train_batch_size=1,
            gradient_accumulation_steps=4,
            gradient_checkpointing=True,
            bf16=True,
            save_steps=100,
            logging_steps=10,
        ),
    )
    trainer.train(resume_from_checkpoint=any(OUTPUT_DIR.glob("checkpoint-*")) or None)
    trainer.save_model(str(OUTPUT_DIR / "adapter"))


if __name__ == "__main__":
    tune()
