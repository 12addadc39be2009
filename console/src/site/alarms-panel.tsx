/** The alarms that are open, the most urgent first, with the way to all of them. */
import { Link } from '@tanstack/react-router';
import { useAlarms } from '../alarms/alarm-list.ts';
import { conditionHolds, isOpen, stateTone } from '../alarms/alarm-words.ts';
import { Failure } from '../parts/failure.tsx';
import { Moment } from '../parts/moment.tsx';
import { Tag } from '../parts/tag.tsx';
import classes from '../points/points.module.css';
import { alarmWords } from '../strings/alarms.ts';

const words = alarmWords;
const shownMax = 6;

export function AlarmsPanel() {
  const alarms = useAlarms();
  const open = (alarms.data ?? []).filter(isOpen);
  return (
    <section className={classes['panel']} aria-labelledby="alarms">
      <h2 id="alarms" className={classes['heading']}>
        {words.title}
      </h2>
      {alarms.isError && <Failure error={alarms.error} onRetry={() => void alarms.refetch()} />}
      {alarms.data !== undefined && open.length === 0 && <p className={classes['soft']}>{words.none.open}</p>}
      <ul className={classes['list']}>
        {open.slice(0, shownMax).map((alarm) => (
          <li key={alarm.id} className={classes['row']}>
            <Tag tone={stateTone(alarm)} long>
              {alarm.name}
            </Tag>
            <span className={classes['soft']}>
              {words.state[alarm.state]}
              {alarm.first_out && conditionHolds(alarm) && `, ${words.firstOut}`}
              {alarm.since !== null && (
                <>
                  , {words.raisedAt} <Moment at={alarm.since} />
                </>
              )}
            </span>
          </li>
        ))}
      </ul>
      <Link to="/alarms" className={`${classes['soft']} ${classes['apart']}`}>
        {open.length > shownMax ? words.allOpen(open.length) : words.all}
      </Link>
    </section>
  );
}
