// The settings of the chosen region.

let editor = null;

/** The settings of the chosen region; of an intersection those of each part. */
function buildEditor() {
  const one = chosen(), spot = byId("settings");
  spot.replaceChildren();
  byId("rename").value = one ? nameOf(one) : "";
  byId("rename").disabled = !one;
  editor = {id: one?.id ?? null, controls: []};
  if (!one) return;
  for (const part of one.kind === "both" ? one.parts : [one]) {
    const kind = KINDS[part.kind], about = part.mask !== null ? CONTEXT.masks[part.mask]?.about : null;
    const heading = one.kind === "both" ? nameOf(part) : kind.label;
    const [what, help] = explained(kind.label, about ?? kind.help);
    const group = el("fieldset", {"aria-label": heading}, el("legend", {}, heading, what), help);
    for (const spec of kind.parameters) {
      const control = setting(`set${part.id}${spec.key}`, spec, (value) => {
        part.values = settled(part.kind, {...part.values, [spec.key]: value ?? part.values[spec.key]});
        changed();
      }, say);
      editor.controls.push({part, spec, control});
      group.append(control.node);
    }
    if (!kind.parameters.length) {
      const [key, value] = Object.entries(part.values)[0];
      group.append(el("p", {class: "fixed"}, `${PARAMETERS[key].symbol} = ${short(value)}, as the config says.`));
    }
    spot.append(group);
  }
}

function showEditor() {
  if (!editor || editor.id !== (chosen()?.id ?? null)) buildEditor();
  for (const {part, spec, control} of editor.controls) control.update(part.values[spec.key], boundsOf(spec, part.values));
  const one = chosen();
  if (one && document.activeElement !== byId("rename")) byId("rename").value = nameOf(one);
}
