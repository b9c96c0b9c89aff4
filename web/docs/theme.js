// In the page of the API: the colours that the system prefers, which the library would change only with a button of
// its own, and the way back to the catalogue.
{
  const dark = matchMedia('(prefers-color-scheme: dark)')
  const follow = () => document.documentElement.classList.toggle('dark-mode', dark.matches)
  dark.addEventListener('change', follow)
  follow()

  document.documentElement.lang = 'en'
  const link = document.createElement('a')
  link.href = '/'
  link.textContent = '← Book Catalogue'
  const header = document.createElement('header')
  header.append(link)
  document.body.prepend(header)
}
