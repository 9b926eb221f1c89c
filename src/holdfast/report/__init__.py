"""What is shown to people: pictures drawn from plain numbers. Nothing here imports torch."""

from holdfast.report.figures import Picture
from holdfast.report.stability_figure import errors_picture, growth_picture, regions_picture

__all__ = ["Picture", "errors_picture", "growth_picture", "regions_picture"]
