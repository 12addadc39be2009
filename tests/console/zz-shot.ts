import { launch, startDemo, installRules, visit, demoFolder } from './browser.ts';
import { startTestService, testFolders, waitFor } from '../e2e/running-service.ts';
const [hash = '', out = 'a', width = '1440', dark = '', mode = 'serve', click = ''] = process.argv.slice(2);
const folders = testFolders('');
const service = mode === 'serve' ? await startDemo() : await startTestService(folders, { SVC_CONFIG_DIR: demoFolder, SVC_LOG_LEVEL: 'info', SVC_FORECASTER_PORT: '0' }, 'start.ts');
try {
  if (mode === 'serve') await installRules(service);
  else await waitFor(() => /demo history is filled/.test(service.logs()) || undefined, 60000).catch(() => console.log(service.logs().slice(-2000)));
  const browser = await launch();
  const { page, complaints } = await visit(browser, service, { width: Number(width), dark: dark === 'dark' });
  if (hash) await page.goto(service.base + '/#' + hash);
  await page.waitForTimeout(2000);
  if (click) { await page.getByRole('button', { name: click }).click(); await page.waitForTimeout(2500); }
  await page.screenshot({ path: `/tmp/shots/${out}.png`, fullPage: true });
  console.log(complaints);
  await browser.close();
} finally { await service.stop(); folders.remove(); }
