"""The machine itself: commands inside a sandbox."""

from botpsy_device.plugin import DevicePlugin

__all__ = ["DevicePlugin"]
