"""What `top` shows: samples of queues, and the screens of queues and of pipelines."""
