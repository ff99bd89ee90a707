/** The forms of the console as a browser reads and sends them. */

export interface ShownForm {
  readonly action: string
  readonly isMultipart: boolean
  /** The fields that a browser would send, without file fields. */
  readonly fields: Readonly<Record<string, string>>
  /** The fields that a person types into. */
  readonly typed: readonly string[]
  readonly button: string
}

const entities: Readonly<Record<string, string>> = {
  '&amp;': '&',
  '&lt;': '<',
  '&gt;': '>',
  '&quot;': '"',
  '&#39;': "'",
}

const decode = (text: string): string =>
  text.replace(/&(?:amp|lt|gt|quot|#39);/g, entity => entities[entity] ?? '')

const attribute = (tag: string, name: string): string | undefined => {
  const found = new RegExp(`\\s${name}="([^"]*)"`).exec(tag)?.[1]
  return found === undefined ? undefined : decode(found)
}

function readControls(content: string): readonly (readonly [name: string, value: string, typed: boolean])[] {
  const inputs = [...content.matchAll(/<input\s[^>]*>/g)].map(([tag]) => ({
    tag,
    value: attribute(tag, 'value') ?? '',
    typed: attribute(tag, 'type') !== 'hidden',
  }))
  const areas = [...content.matchAll(/(<textarea\s[^>]*>)([^<]*)<\/textarea>/g)].map(
    ([, tag = '', value = '']) => ({ tag, value: decode(value), typed: true }),
  )
  const lists = [...content.matchAll(/(<select\s[^>]*>)(.*?)<\/select>/gs)].map(
    ([, tag = '', options = '']) => {
      const [first = ''] = /<option[^>]*>/.exec(options) ?? []
      const [chosen = first] = /<option[^>]* selected>/.exec(options) ?? []
      return { tag, value: attribute(chosen, 'value') ?? '', typed: false }
    },
  )
  return [...inputs, ...areas, ...lists]
    .filter(({ tag }) => attribute(tag, 'name') !== undefined && attribute(tag, 'type') !== 'file')
    .map(({ tag, value, typed }) => [attribute(tag, 'name') ?? '', value, typed] as const)
}

/** Reads the forms that act; forms that filter a list are skipped. */
export function readForms(page: string): readonly ShownForm[] {
  return [...page.matchAll(/(<form method="post"[^>]*>)(.*?)<\/form>/gs)].map(
    ([, tag = '', content = '']) => {
      const controls = readControls(content)
      return {
        action: attribute(tag, 'action') ?? '',
        isMultipart: attribute(tag, 'enctype') === 'multipart/form-data',
        fields: Object.fromEntries(controls.map(([name, value]) => [name, value])),
        typed: controls.filter(([, , typed]) => typed).map(([name]) => name),
        button: /<button[^>]*>([^<]*)/.exec(content)?.[1] ?? '',
      }
    },
  )
}

export const mainOf = (page: string): string => page.slice(page.indexOf('<main'))

export function bodyOf(
  { isMultipart }: Pick<ShownForm, 'isMultipart'>,
  fields: Readonly<Record<string, string>>,
): FormData | URLSearchParams {
  if (!isMultipart) return new URLSearchParams(fields)
  const form = new FormData()
  for (const [name, value] of Object.entries(fields)) form.set(name, value)
  return form
}
