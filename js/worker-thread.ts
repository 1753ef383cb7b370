// The script of the worker: what `dovetail-mls/worker` starts, and nothing else imports.

import type { Port } from "./bridge.js";
import { serve } from "./serve.js";

serve(globalThis as unknown as Port);
