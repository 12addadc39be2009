/** A processor that answers with the named fallbacks, in this process; for tests and benches, so it knows no test runner. */
import type { ProcessTaskRequest } from '../api/processing.ts';
import { silentLog } from '../base/log.ts';
import type { CommissionedRoute } from '../processing/commission/commissioned.ts';
import type { Processor } from '../processing/processor/processor.ts';
import { inProcessProcessor } from '../processing/processor/transport/in-process.ts';
import { requestAnswerer } from '../processor-kit/server/answer-request.ts';
import { fallbackWork } from '../processor-kit/server/fallback-work.ts';
import { defaultServerLimits } from '../processor-kit/server/limits.ts';
import type { SimulatedClock } from './simulated-clock.ts';

export const processBody: ProcessTaskRequest = {
  task_id: 'energy.site-load-forecast',
  expected_task_revision: 1,
  binding_id: 'energy.example-site',
  expected_binding_revision: 1,
  as_of: '2026-07-11T12:00:00Z',
  options: { kind: 'forecast', horizon_steps: 2 },
};

/** The named fallbacks in this process, over the bytes of the wire. */
export function fallbackProcessor({ task, processor }: CommissionedRoute, clock: SimulatedClock): Processor {
  const { id, version, contract } = processor;
  const answerer = requestAnswerer({
    processor: { id, version, contract },
    declarations: [task],
    limits: defaultServerLimits,
    bearerToken: null,
    clock,
    log: silentLog,
    work: fallbackWork,
    condition: () => 'ok',
    knowsArtifact: () => true,
  });
  return inProcessProcessor(
    processor,
    async (route, request, signal) => {
      const reply = route === 'health' ? answerer.health(request.headers) : await answerer.process(request, signal);
      const { status, headers, body } = reply;
      return { status, contentType: headers['content-type'], contentEncoding: undefined, body };
    },
    { clock, bearerToken: null },
  );
}
