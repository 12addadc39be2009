import { processorContract } from '../../../testing/processor-contract.ts';
import { inProcessProcessor } from './in-process.ts';

processorContract('in process', (settings, answer, clock, bearerToken) => {
  const processor = inProcessProcessor(settings, answer, { clock, bearerToken });
  return Promise.resolve({ processor, close: () => Promise.resolve() });
});
