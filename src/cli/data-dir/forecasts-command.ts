/** The options of `setpoint forecasts backtest` [data-processing §8]. The implementation is loaded on demand. */
import { type Command, InvalidArgumentError, Option } from 'commander';
import { confirmedOption, readTime, wholeNumber } from '../command-line.ts';
import type { DataDirParts } from './data-dir.ts';
import type { BacktestOptions } from './forecasts-backtest.ts';

export function addForecastCommands(forecasts: Command, parts: DataDirParts): void {
  forecasts
    .command('backtest')
    .description('run a task over recorded history, as known at each time, and score it')
    .requiredOption('--task <id>', 'the commissioned task')
    .requiredOption('--binding <id>', 'its binding')
    .requiredOption('--from <time>', 'the first cutoff', readTime)
    .requiredOption('--to <time>', 'the end of the cutoffs, itself not one', readTime)
    .requiredOption('--every <seconds>', 'between two cutoffs', wholeNumber)
    .option('--horizon <steps>', "steps ahead; the task's own when absent", readSteps)
    .option('--quantiles <list>', 'such as 0.1,0.5,0.9; deciles when absent', readList)
    .addOption(
      new Option('--by <kind>', 'groups of the scores').choices(['none', 'lead', 'hour', 'day']).default('none'),
    )
    .option('--out <folder>', 'keep frames, results and actuals there, to compute every figure again')
    .option(...confirmedOption)
    .option('--json', 'print the scores as JSON')
    .action(async (options: BacktestOptions) => {
      const { backtestCommand } = await import('./forecasts-backtest.ts');
      await backtestCommand(parts, options);
    });
}

function readSteps(text: string): number {
  const steps = wholeNumber(text);
  if (steps === 0) throw new InvalidArgumentError('Give at least 1 step.');
  return steps;
}

function readList(text: string): readonly number[] {
  const values = text.split(',').map(Number);
  if (values.some((value) => !(value > 0 && value < 1)))
    throw new InvalidArgumentError('Give numbers between 0 and 1 with commas, such as 0.1,0.5,0.9');
  return values;
}
