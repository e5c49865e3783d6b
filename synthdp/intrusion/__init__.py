"""The intruder who knows mask, model and parameters: who makes the copies again and learns what rows say of people."""
