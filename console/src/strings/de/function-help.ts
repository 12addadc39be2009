/** Signaturen der Funktionen, und was sie tun. */
import type { functionHelp as english } from '../en/function-help.ts';

export const functionHelp: typeof english = {
  if: { signature: 'if(bedingung, dann, sonst)', about: 'einer von zwei Werten' },
  abs: { signature: 'abs(x)', about: 'x ohne Vorzeichen' },
  min: { signature: 'min(a, b, …)', about: 'der kleinste Wert' },
  max: { signature: 'max(a, b, …)', about: 'der größte Wert' },
  round: { signature: 'round(x)', about: 'die nächste ganze Zahl' },
  floor: { signature: 'floor(x)', about: 'die ganze Zahl darunter' },
  ceil: { signature: 'ceil(x)', about: 'die ganze Zahl darüber' },
  sqrt: { signature: 'sqrt(x)', about: 'die Quadratwurzel' },
  pow: { signature: 'pow(x, y)', about: 'x hoch y' },
  exp: { signature: 'exp(x)', about: 'e hoch x' },
  ln: { signature: 'ln(x)', about: 'der natürliche Logarithmus' },
  log10: { signature: 'log10(x)', about: 'der Zehnerlogarithmus' },
  sign: { signature: 'sign(x)', about: '-1, 0 oder 1' },
  clamp: { signature: 'clamp(x, unten, oben)', about: 'x, aber mindestens unten und höchstens oben' },
  scale: {
    signature: 'scale(x, von_unten, von_oben, zu_unten, zu_oben)',
    about: 'x von einem Bereich in einen anderen übertragen',
  },
  integrate: {
    signature: 'integrate(x, je_sekunden?)',
    about: 'die Summe von x über die Zeit; mit 3600 werden aus kW kWh',
  },
  moving_avg: { signature: 'moving_avg(x, läufe)', about: 'der Mittelwert der letzten Läufe' },
  rate_of_change: { signature: 'rate_of_change(x)', about: 'die Änderung je Sekunde' },
  hysteresis: {
    signature: 'hysteresis(x, ein_über, aus_unter)',
    about: '1 über der ersten Schwelle, 0 unter der zweiten, sonst wie zuvor',
  },
  held: { signature: 'held(bedingung, sekunden)', about: 'wahr, sobald die Bedingung so lange wahr war' },
  rising: { signature: 'rising(bedingung)', about: 'wahr in dem Lauf, in dem die Bedingung wahr wird' },
  falling: { signature: 'falling(bedingung)', about: 'wahr in dem Lauf, in dem die Bedingung falsch wird' },
  time_of_day: { signature: 'time_of_day()', about: 'Stunden seit Mitternacht am Ort' },
  weekday: { signature: 'weekday()', about: '1 (Montag) bis 7' },
  month: { signature: 'month()', about: '1 bis 12' },
};
