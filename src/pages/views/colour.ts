/** Makes merchants' colours readable: contrast by WCAG 2, and the nearest colour with enough contrast. */

export type Rgb = readonly [red: number, green: number, blue: number]

/** Six hexadecimal digits after `#`; nothing else may reach a stylesheet. */
export function parseColour(text: string): Rgb | undefined {
  if (!/^#[0-9a-f]{6}$/i.test(text)) return undefined
  const at = (index: number): number => Number.parseInt(text.slice(index, index + 2), 16)
  return [at(1), at(3), at(5)]
}

export const toHex = (colour: Rgb): string =>
  `#${colour.map(part => Math.round(part).toString(16).padStart(2, '0')).join('')}`

/** Relative luminance: 0 is black, 1 is white. The numbers are those of WCAG 2. */
export function luminance(colour: Rgb): number {
  const [red, green, blue] = colour.map(part => {
    const share = part / 255
    return share <= 0.04045 ? share / 12.92 : ((share + 0.055) / 1.055) ** 2.4
  })
  return 0.2126 * (red ?? 0) + 0.7152 * (green ?? 0) + 0.0722 * (blue ?? 0)
}

/** 1 (the same) to 21 (black on white). */
export function contrast(one: Rgb, other: Rgb): number {
  const [light, dark] = [luminance(one), luminance(other)].sort((a, b) => b - a)
  return ((light ?? 0) + 0.05) / ((dark ?? 0) + 0.05)
}

/** 4.5: what WCAG AA asks for text of ordinary size. */
export const textContrast = 4.5

export const white: Rgb = [255, 255, 255]
export const black: Rgb = [0, 0, 0]

const mix = (one: Rgb, other: Rgb, share: number): Rgb => [
  one[0] + (other[0] - one[0]) * share,
  one[1] + (other[1] - one[1]) * share,
  one[2] + (other[2] - one[2]) * share,
]

/** White or black, whichever reads better: one of them always has at least 4.5. */
export const inkOn = (surface: Rgb): Rgb =>
  contrast(surface, white) >= contrast(surface, black) ? white : black

/** The colour itself where it reads well on the surface, else the nearest tint or shade that does. */
export function makeReadable(colour: Rgb, surface: Rgb): Rgb {
  const towards = inkOn(surface)
  // 5 % per step: finer than the eye sees, and the last step is black or white, which is always readable.
  for (let step = 0; step <= 20; step++) {
    const candidate = mix(colour, towards, step / 20)
    if (contrast(candidate, surface) >= textContrast) return candidate
  }
  return towards
}
