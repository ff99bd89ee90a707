/** Numbers from rounds: medians, ratios within a round, percentiles, and how they are shown. */

export interface Spread {
  readonly median: number
  readonly min: number
  readonly max: number
}

export function spreadOf(values: readonly number[]): Spread {
  const sorted = values.toSorted((a, b) => a - b)
  const middle = (sorted.length - 1) / 2
  const median = ((sorted[Math.floor(middle)] ?? Number.NaN) + (sorted[Math.ceil(middle)] ?? Number.NaN)) / 2
  return { median, min: sorted[0] ?? Number.NaN, max: sorted.at(-1) ?? Number.NaN }
}

/** Ratios within one round: a slow minute of the machine slows both sides of that round. */
export const ratiosOf = (ours: readonly number[], theirs: readonly number[]): readonly number[] =>
  ours.map((value, round) => value / (theirs[round] ?? Number.NaN))

/** The smallest value that is at least as large as the given share of all. */
export function percentileOf(sorted: Float64Array, share: number): number {
  return sorted[Math.max(0, Math.ceil(sorted.length * share) - 1)] ?? Number.NaN
}

export const showRate = (perSecond: number): string => Math.round(perSecond).toLocaleString('en-GB')

export const showRates = ({ median, min, max }: Spread): string =>
  `${showRate(median)}/s (${showRate(min)}–${showRate(max)})`

export const showRatio = ({ median, min, max }: Spread): string =>
  `${median.toFixed(2)}× (${min.toFixed(2)}–${max.toFixed(2)})`

export interface Line {
  readonly what: string
  readonly measured: string
  /** The target of issue and documentation; absent for figures that are only shown. */
  readonly target?: string
  readonly met?: boolean
}

export function renderTable(lines: readonly Line[]): string {
  const rows = [
    ['', 'measured', 'target', 'verdict'],
    ...lines.map(({ what, measured, target, met }) => [
      what,
      measured,
      target ?? '',
      met === undefined ? '' : met ? 'met' : 'MISSED',
    ]),
  ]
  const widths = [0, 1, 2, 3].map(column => Math.max(...rows.map(row => row[column]?.length ?? 0)))
  return rows
    .map(row =>
      row
        .map((cell, column) => cell.padEnd(widths[column] ?? 0))
        .join('  ')
        .trimEnd(),
    )
    .join('\n')
}
