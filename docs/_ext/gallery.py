"""The gallery of questions: each with its answer and a figure, from the reference results."""

from pathlib import Path

from bench.cli.questions import describe_questions
from bench.cli.workspace import workspace_of

ROOT = Path(__file__).resolve().parents[2]
PICTURES = "../../reports/reference/questions"  # from the folder of generated pages
HEAD = """# Questions

*Generated* from the reference results. Each question is disputed in the literature. The figure has
a row per effect: as published, as measured by other projects, and as measured here with its 95 %
interval.
"""


def gallery_page() -> str:
    """Return every question with what is known of it, its figure, and the command that answers."""
    workspace = workspace_of(suites=ROOT / "suites", results=ROOT / "results" / "reference")
    parts = [HEAD]
    for found in describe_questions(workspace, None):
        asked = found.question
        if (ROOT / "reports" / "reference" / "questions" / f"{asked.name}.svg").exists():
            picture = f"![{asked.question}]({PICTURES}/{asked.name}.svg)\n"
            link = f"[All effects]({PICTURES}/{asked.name}.md)"
        else:
            picture, link = "", "[The results](../../reports/reference/index.md)"
        said = "\n".join(f"- {' '.join(s.split())}" for s in found.sentences)
        command = f"```bash\nbench questions {asked.name}\n```\n"
        parts += [f"## {asked.question}\n", said + "\n", picture, f"{link}, or:\n\n{command}"]
    return "\n".join(parts)
