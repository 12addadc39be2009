/** Shelves an alarm: for how long, and why. */
import { announce } from '../parts/announce.tsx';
import { TimedDialog } from '../points/timed-dialog.tsx';
import { alarmWords } from '../strings/alarms.ts';
import { useShelve } from './alarm-queries.ts';
import type { AlarmView } from './alarm-words.ts';

const words = alarmWords.shelve;

export function ShelveDialog({ alarm, onClose }: { alarm: AlarmView; onClose: () => void }) {
  const shelve = useShelve(alarm.id, () => {
    announce(words.done(alarm.name));
    onClose();
  });
  return (
    <TimedDialog
      title={words.title(alarm.name)}
      lead={words.lead}
      durations={words.durations}
      durationLabel={words.duration}
      reasonHint={words.reasonHint}
      submit={words.submit}
      work={shelve}
      onSubmit={(order) => shelve.mutate(order)}
      onClose={onClose}
    />
  );
}
