/** Parts that every cell has one of. */
import type { Cell } from '#wiring/cell.ts'

/** Made once for each cell, when it is first needed: one that was away at the start may come later. */
export function perCell<T>(make: (cell: Cell) => T): (cell: Cell) => T {
  const made = new WeakMap<Cell, T>()
  return cell => {
    const known = made.get(cell)
    if (known !== undefined) return known
    const fresh = make(cell)
    made.set(cell, fresh)
    return fresh
  }
}
