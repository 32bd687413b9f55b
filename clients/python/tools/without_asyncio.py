"""Makes `_sync.py` of `_async.py`: the same client without asyncio."""

import re
from pathlib import Path

SOURCE = Path(__file__).parent.parent / "src" / "generation_gateway" / "_async.py"
REPLACED = [
    (r'^""".*?"""', '"""The client without asyncio, made from `_async.py`."""'),
    (r"\basync (def|for|with)\b", r"\1"),
    (r"\bawait ", ""),
    (r"\bimport asyncio\n", ""),
    (r"\bimport os\n", "import os\nimport threading\n"),
    (r"\basyncio\.Semaphore\b", "threading.Semaphore"),
    (r"\basyncio\.to_thread\(([\w.]+)(?:, )?", r"\1("),
    (r"\basyncio\.sleep\b", "time.sleep"),
    (r"\bAwaitable\[((?:[^\[\]]|\[[^\[\]]*\])*)\]", r"\1"),
    (r", Awaitable\b", ""),
    (r"\bAsyncIterator\b", "Iterator"),
    (r"\bhttpx\.AsyncClient\b", "httpx.Client"),
    (r"\b(_?)Async(?=[A-Z])", r"\1"),
    (r"__a(enter|exit|iter)__", r"__\1__"),
    (r"\ba(read|close|iter_raw|iter_lines)\b", r"\1"),
]

text = SOURCE.read_text(encoding="utf-8")
for pattern, replacement in REPLACED:
    text = re.sub(pattern, replacement, text, flags=re.M)
text = text.replace("from collections.abc import Iterator, Callable", "from collections.abc import Callable, Iterator")
SOURCE.with_name("_sync.py").write_text(text, encoding="utf-8")
