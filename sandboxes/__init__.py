"""Isolation of untrusted code: in, commands, programs and files; out, their results.

with open_sandbox(limits=Limits(wall_s=5)) as sandbox:
    print(sandbox.run_python("print(6 * 7)").stdout)
"""

from sandboxes.backends import BACKENDS as BACKENDS
from sandboxes.backends import Trust as Trust
from sandboxes.backends import find_backend as find_backend
from sandboxes.backends import open_sandbox as open_sandbox
from sandboxes.base import WORK_FOLDER as WORK_FOLDER
from sandboxes.base import Backend as Backend
from sandboxes.base import Capabilities as Capabilities
from sandboxes.base import ExecResult as ExecResult
from sandboxes.base import ProcessEnded as ProcessEnded
from sandboxes.base import Sandbox as Sandbox
from sandboxes.base import SandboxError as SandboxError
from sandboxes.base import SandboxFileError as SandboxFileError
from sandboxes.base import SandboxProcess as SandboxProcess
from sandboxes.base import SandboxUnavailable as SandboxUnavailable
from sandboxes.base import Support as Support
from sandboxes.limits import Limits as Limits
