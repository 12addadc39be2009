/** Driver `virtual`: points that rules write [points §3.3]. A command becomes the live value at once. */
import { quality } from '../../site/quality.ts';
import type { Driver, DriverContext } from '../driver.ts';

export function createVirtualDriver(context: DriverContext): Driver {
  return {
    start: () => context.setOnline(true),
    wake() {
      for (let command = context.nextCommand(); command !== null; command = context.nextCommand()) {
        context.publish([{ index: command.index, raw: command.value, quality: quality.good }]);
        context.commandDone(command, null);
      }
    },
    stop: async () => context.setOnline(false),
  };
}
