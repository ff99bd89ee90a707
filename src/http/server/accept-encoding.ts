/** Whether a client takes a compressed answer. No header means no. */

export function accepts(acceptEncoding: string | undefined, coding: 'gzip' | 'br'): boolean {
  return (acceptEncoding ?? '').split(',').some(part => {
    const [name = '', ...parameters] = part.split(';').map(word => word.trim().toLowerCase())
    // A weight of nought is a refusal.
    return name === coding && !parameters.some(parameter => /^q=0(\.0*)?$/.test(parameter))
  })
}
