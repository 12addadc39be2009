/** Forecasts that run by themselves and fail. */
import { type AlarmSource, builtIn } from './source.ts';

export const forecastAlarms: AlarmSource = {
  owns: (id) => id === 'forecast-failing',
  look: ({ failedForecasts }, limits) => [
    {
      facts: builtIn({
        id: 'forecast-failing',
        name: 'A scheduled forecast fails',
        priority: 'medium',
        message: [
          ...(failedForecasts ?? []).map(({ task, binding, reason }) => `${task} for ${binding}: ${reason}.`),
          'Kept forecasts are not renewed until a run succeeds.',
        ].join(' '),
      }),
      raw: failedForecasts === null ? null : failedForecasts.length > 0,
      delayMs: limits.forecast_failing_ms,
    },
  ],
};
