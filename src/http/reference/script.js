// Improves the reference page: filtering, copying, unfolding shared objects, marking the current section. The page
// works without.
const entries = [...document.querySelectorAll('nav li a')].map(link => {
  const target = document.getElementById(link.hash.slice(1))
  return { item: link.parentElement, link, target, words: '' }
})

function filterBy(text) {
  const wanted = text.toLowerCase().split(/\s+/).filter(Boolean)
  let shown = 0
  for (const entry of entries) {
    // The whole text of an entry is searched, so that the name of a field finds the operations that have it.
    entry.words ||= `${entry.link.textContent} ${entry.target?.textContent ?? ''}`.toLowerCase()
    const fits = wanted.every(word => entry.words.includes(word))
    entry.item.hidden = !fits
    if (fits) shown += 1
  }
  for (const group of document.querySelectorAll('nav .group')) {
    group.hidden = !group.querySelector('li:not([hidden])')
  }
  document.getElementById('found').textContent = wanted.length > 0 ? `${shown} of ${entries.length}` : ''
}

function startFilter() {
  const input = document.getElementById('filter')
  input.closest('search').hidden = false
  input.addEventListener('input', () => filterBy(input.value))
  input.addEventListener('keydown', event => {
    if (event.key === 'Enter') document.querySelector('nav li:not([hidden]) a')?.click()
    if (event.key !== 'Escape') return
    input.value = ''
    filterBy('')
    input.blur()
  })
  document.addEventListener('keydown', event => {
    const typing = event.target.closest('input, textarea, select')
    if (event.key !== '/' || typing || event.ctrlKey || event.metaKey || event.altKey) return
    event.preventDefault()
    input.focus()
  })
}

/** 1.5 s: long enough to read, too short to be taken for the button's name. */
const noticeMs = 1500

function addCopyButton(source) {
  const button = document.createElement('button')
  button.type = 'button'
  button.className = 'copy'
  button.textContent = 'Copy'
  button.setAttribute('aria-live', 'polite')
  // Read before the button is added, so that its own text is never copied.
  const text = source.textContent
  button.addEventListener('click', async () => {
    const done = await navigator.clipboard.writeText(text).then(
      () => 'Copied',
      () => 'Not allowed',
    )
    button.textContent = done
    setTimeout(() => {
      button.textContent = 'Copy'
    }, noticeMs)
  })
  if (source.tagName !== 'PRE') return source.after(button)
  // The frame keeps the button in its corner while the code scrolls below it.
  const frame = document.createElement('div')
  frame.className = 'copied'
  source.replaceWith(frame)
  frame.append(source, button)
}

/** Gives each field its address, `createThing.size.width`, and makes its name a link to it. */
function nameFields(list, path) {
  for (const item of list.children) {
    const name = item.querySelector(':scope > b')
    item.id = `${path}.${name.textContent}`
    const link = document.createElement('a')
    link.href = `#${item.id}`
    link.append(...name.childNodes)
    name.append(link)
    for (const nested of item.querySelectorAll(':scope > details > .fields')) nameFields(nested, item.id)
  }
}

function unfoldShared(details) {
  const fields = document.getElementById(details.dataset.object)?.querySelector(':scope > .fields')
  if (!fields) return
  const copy = fields.cloneNode(true)
  // The copy has no ids, so its links lead to the original.
  for (const element of copy.querySelectorAll('[id]')) element.removeAttribute('id')
  details.querySelector(':scope > .pointer')?.replaceWith(copy)
  details.removeAttribute('data-object')
}

function revealTarget() {
  let target = location.hash ? document.getElementById(decodeURIComponent(location.hash.slice(1))) : null
  const goal = target
  let opened = false
  for (; target; target = target.parentElement) {
    if (target.tagName !== 'DETAILS' || target.open) continue
    target.open = true
    opened = true
  }
  if (opened) goal.scrollIntoView()
}

function markPlace() {
  const visible = new Set()
  const observer = new IntersectionObserver(
    changes => {
      for (const { target, isIntersecting } of changes) visible[isIntersecting ? 'add' : 'delete'](target)
      const current = entries.find(({ target }) => visible.has(target))
      if (!current) return
      for (const { link } of entries) link.removeAttribute('aria-current')
      current.link.setAttribute('aria-current', 'true')
      current.link.scrollIntoView({ block: 'nearest', behavior: 'instant' })
    },
    // A strip below the top edge: the section that crosses it is the one being read.
    { rootMargin: '-10% 0px -80% 0px' },
  )
  for (const { target } of entries) if (target) observer.observe(target)
}

startFilter()
for (const source of document.querySelectorAll('[data-copy]')) addCopyButton(source)
for (const list of document.querySelectorAll('[data-path]')) nameFields(list, list.dataset.path)
document.addEventListener(
  'toggle',
  event => {
    if (event.target.open && event.target.dataset.object) unfoldShared(event.target)
  },
  true,
)
document.addEventListener('keydown', event => {
  if (event.key === 'Escape' && location.hash === '#navigation') location.hash = '#content'
})
addEventListener('hashchange', revealTarget)
addEventListener('beforeprint', () => {
  for (const details of document.querySelectorAll('details:not([data-object])')) details.open = true
})
revealTarget()
markPlace()
