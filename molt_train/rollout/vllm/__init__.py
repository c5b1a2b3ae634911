"""vLLM as the rollout engine. In: prompts and weights. Out: sampled ids. The only home of `import vllm`."""
