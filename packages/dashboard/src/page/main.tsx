import { effect } from '@preact/signals';
import { render } from 'preact';
import { App } from './app.js';
import { follow, latest, link, takeToken } from './connection.js';
import { headline, signs } from './words.js';

const place = document.getElementById('app');
if (place) render(<App />, place);
follow(takeToken());
// Somebody has pasted an address with a token.
addEventListener('hashchange', () => location.reload());
// A tab that is not looked at says how it is, too.
effect(() => {
  const { tone, title } = headline(latest.value, link.value);
  document.title = `${signs[tone]} ${title} · ${latest.value?.about.title ?? 'Sluice'}`;
});
