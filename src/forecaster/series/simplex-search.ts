/** A minimum without derivatives inside a box (Nelder and Mead 1965), with a fixed budget: the same answer every time. */

export interface SearchBox {
  readonly start: readonly number[];
  readonly stride: readonly number[];
  readonly least: readonly number[];
  readonly most: readonly number[];
}

interface Corner {
  readonly point: readonly number[];
  readonly loss: number;
}

export function searchMinimum(
  loss: (point: readonly number[]) => number,
  box: SearchBox,
  evaluationsMax: number,
): readonly number[] {
  const size = box.start.length;
  const spent = { evaluations: 0 };
  const corner = (point: readonly number[]): Corner => {
    const inside = point.map((value, axis) =>
      Math.max(box.least[axis] ?? value, Math.min(box.most[axis] ?? value, value)),
    );
    const own = loss(inside);
    spent.evaluations++;
    return { point: inside, loss: Number.isNaN(own) ? Number.POSITIVE_INFINITY : own };
  };
  let corners = [corner(box.start)];
  for (let axis = 0; axis < size; axis++)
    corners.push(corner(box.start.map((value, other) => (other === axis ? value + (box.stride[axis] ?? 0) : value))));
  while (spent.evaluations < evaluationsMax) {
    corners.sort((a, b) => a.loss - b.loss);
    const [best] = corners;
    const worst = corners[size];
    const second = corners[size - 1];
    if (best === undefined || worst === undefined || second === undefined) break;
    const centre = box.start.map(
      (_, axis) => corners.slice(0, size).reduce((sum, own) => sum + (own.point[axis] ?? 0), 0) / size,
    );
    const along = (reach: number): Corner =>
      corner(centre.map((value, axis) => value + reach * (value - (worst.point[axis] ?? 0))));
    const reflected = along(1);
    if (reflected.loss < best.loss) {
      const further = along(2);
      corners[size] = further.loss < reflected.loss ? further : reflected;
    } else if (reflected.loss < second.loss) {
      corners[size] = reflected;
    } else {
      const drawn = along(reflected.loss < worst.loss ? 0.5 : -0.5);
      if (drawn.loss < Math.min(reflected.loss, worst.loss)) corners[size] = drawn;
      else corners = corners.map((own) => (own === best ? own : corner(halfway(own.point, best.point))));
    }
  }
  corners.sort((a, b) => a.loss - b.loss);
  return corners[0]?.point ?? box.start;
}

function halfway(from: readonly number[], to: readonly number[]): readonly number[] {
  return from.map((value, axis) => (value + (to[axis] ?? value)) / 2);
}
